#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files/files.h"
#include "pipeline/card/card.h"

namespace stoker {

// What a card's output depends on, as one hash: type, version, settings, inputs and what it reads from
// outside. Ids, names, layout and settings that do not change the output are no part of it. `sources` are the
// identities of the cards that it reads from, in the order of its connections.
std::string identity_of_card(const Card& card, const std::vector<std::string>& sources,
                             const std::string& outside);
// And what is read at a connection, given the identity of the card that it reads from.
std::string identity_of_output(const std::string& source, const Connection& connection);

// What a card had to say while it ran.
using CardNotes = std::vector<std::pair<Severity, std::string>>;

struct KeptOutputs {
  PortValues values;
  CardNotes notes;
};

// An output for people who look at the cache.
struct CacheEntry {
  std::string identity;
  std::string card_type;  // "" where it is damaged
  std::int64_t used = 0;  // last, in seconds since 1970
  std::uint64_t bytes = 0;
};

// Outputs of cards that have run, under the identity of the card: <folder>/ab/ab12…/. An entry is there as a
// whole or not at all, lists its files with their hashes, and is never replaced unless it is damaged. Whoever
// uses entries holds a shared lock on <folder>/lock, so that none is removed under a run that goes on. People
// may remove the folder at any time: then there is nothing to load, and nothing is kept.
class Cache {
 public:
  explicit Cache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  ~Cache();

  const std::filesystem::path& folder() const { return folder_; }

  enum class State { absent, whole, damaged };
  State state_of(const std::string& identity, const CardType& type) const;

  void keep(const std::string& identity, const CardType& type, const PortValues& outputs,
            const CardNotes& notes) const;
  // None where there is no whole entry, or where it is removed meanwhile.
  std::optional<KeptOutputs> load(const std::string& identity, const CardType& type) const;

  // Removes the entries that were not used for longest until the rest is at most this large, and what killed
  // runs left half written. Leaves everything to the last of several runs that use the cache at a time: then
  // it says no.
  bool shrink_to(std::uint64_t bytes);

  // Those that were used last come first.
  std::vector<CacheEntry> entries() const;

 private:
  std::filesystem::path entry(const std::string& identity) const;
  std::unique_ptr<AtomicFolder> begin_entry(const std::filesystem::path& path) const;
  void hold() const;
  bool holds_lock() const;
  void mark_used(const std::filesystem::path& entry_folder) const;

  std::filesystem::path folder_;
  mutable int lock_ = -1;  // taken with the first entry that is looked at
};

}  // namespace stoker
