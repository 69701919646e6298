#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stoker {

// Counts texts in bounded memory. Up to `most` different ones the counts are right. Beyond that the rarest
// are forgotten on the way (Misra and Gries, 1982): every text that makes up more than 1 / `most` of all is
// still there at the end, and count_again() over the same texts gives the right counts of those that are.
class FrequentTexts {
 public:
  explicit FrequentTexts(std::size_t most) : most_(most) {}

  void count(std::string_view text);
  bool has_forgotten() const { return has_forgotten_; }
  void begin_again();  // keeps the texts, and no counts
  void count_again(std::string_view text);

  std::size_t distinct() const { return counts_.size(); }
  // Most frequent first; of equally frequent ones the one first in the alphabet.
  std::vector<std::pair<std::string, std::int64_t>> first(std::size_t number) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  void forget_one_of_each();

  std::size_t most_;
  bool has_forgotten_ = false;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> counts_;
};

}  // namespace stoker
