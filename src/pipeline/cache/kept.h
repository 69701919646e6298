#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace stoker {

// Values that take long to make, by key, for whoever wants the same later. Whoever holds one may go on using
// it after it was forgotten here.
template <class Value>
class Kept {
 public:
  // Null when there is none.
  std::shared_ptr<const Value> find(const std::string& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    entries_.front().round = round_;
    return entries_.front().value;
  }

  std::shared_ptr<const Value> add(const std::string& key, Value value, std::uint64_t bytes) {
    entries_.push_front({key, std::make_shared<const Value>(std::move(value)), bytes, round_});
    places_[key] = entries_.begin();
    bytes_ += bytes;
    return entries_.front().value;
  }

  // Forgets what was not used since the last call, the longest unused first, as long as there is more than
  // this.
  void forget_beyond(std::uint64_t most_bytes) {
    while (bytes_ > most_bytes && !entries_.empty() && entries_.back().round < round_) {
      bytes_ -= entries_.back().bytes;
      places_.erase(entries_.back().key);
      entries_.pop_back();
    }
    ++round_;
  }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Value> value;
    std::uint64_t bytes = 0;
    std::int64_t round = 0;  // in which it was used last
  };
  std::list<Entry> entries_;  // that used last first
  std::unordered_map<std::string, typename std::list<Entry>::iterator> places_;
  std::uint64_t bytes_ = 0;
  std::int64_t round_ = 0;
};

}  // namespace stoker
