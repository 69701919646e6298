#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/notes.h"
#include "base/process/stop.h"
#include "pipeline/cache/kept.h"
#include "pipeline/card/card.h"
#include "pipeline/document/document.h"

namespace stoker {

// Outputs of cards for whoever asks, made when they are asked for and kept in memory under the identity of
// the card, so that documents that differ elsewhere share them. What is forgotten is made again if it is
// wanted after all.
class OutputsOnDemand {
 public:
  // Notes and stop must live as long. `cache` is the folder where rows are kept of sources that say when they
  // are to be read again (`refresh`).
  OutputsOnDemand(const Notes& notes, const StopSignal& stop, std::filesystem::path cache)
      : notes_(notes), stop_(stop), cache_(std::move(cache)) {}

  PortValue value_at(const Document& document, const Connection& connection);
  // What that value depends on.
  std::string identity_at(const Document& document, const Connection& connection);
  // Looked at once for all cards that look at the same.
  const Outside& outside_of(const Document& document, const Card& card);
  // Forgets what was not asked for since the last call as long as there is more than this.
  void forget_beyond(std::uint64_t most_bytes) { kept_.forget_beyond(most_bytes); }

 private:
  // `known` has the identities of cards that were met on the way: there may be more ways than cards.
  using Identities = std::map<std::string, std::string>;
  std::string identity_of(const Document& document, const Card& card, Identities& known);
  std::shared_ptr<const PortValues> outputs_of(const Document& document, const Card& card, Identities& known);
  Outside looked_outside(const Document& document, const Card& card) const;
  // The values of a source whose rows are known from before; none where they are to be read.
  std::optional<PortValues> known_values(const Card& card, const Outside& outside,
                                         const std::string& identity) const;

  const Notes& notes_;
  const StopSignal& stop_;
  std::filesystem::path cache_;
  std::map<std::string, Outside> outsides_;
  Kept<PortValues> kept_;
};

}  // namespace stoker
