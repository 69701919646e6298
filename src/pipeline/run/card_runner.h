#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "base/process/stop.h"
#include "pipeline/cache/cache.h"
#include "pipeline/cache/known_sources.h"
#include "pipeline/card/card_inputs.h"
#include "pipeline/run/outputs.h"
#include "pipeline/run/recorder.h"
#include "pipeline/run/run.h"
#include "pipeline/run/time_limit.h"
#include "pipeline/training/kernels_ahead.h"

namespace stoker {

// Runs the cards of one run, one after the other: from the cache where it has them, else anew and into the
// cache, each within its time.
class CardRunner {
 public:
  // All must live as long. `overstayed` is told of a card that does not stop when its time is over.
  CardRunner(const Document& document, const std::set<std::string>& running, const RunOptions& options,
             RunFolder& folder, Recorder& recorder, const StopSignal& stop,
             std::function<void(const Card&)> overstayed);

  // Returns whether its outputs came from the cache.
  bool run(const Card& card);
  const Outputs& outputs() const { return outputs_; }
  // When what the card has put out is kept elsewhere too.
  void let_go_after(const Card& card, bool reused);

  bool has_trained() const { return has_trained_; }
  Cache& cache() { return cache_; }

 private:
  struct Look {
    Outside outside;
    std::string identity;
    std::optional<KeptOutputs> kept;
  };
  Look look_at(const Card& card, const StopSignal& stop, const FindKnownRows& find);
  Look look_outside(const Card& card, const StopSignal& stop);
  std::optional<KeptOutputs> kept_outputs(const Card& card, const std::string& identity);
  PortValues run_anew(const Card& card, const std::string& identity, const Outside& outside,
                      TimeLimit& limit);
  void refuse_late(const Card& card, const TimeLimit& limit) const;

  const Document& document_;
  const RunOptions& options_;
  RunFolder& folder_;
  Recorder& recorder_;
  const StopSignal& stop_;
  std::function<void(const Card&)> overstayed_;
  Cache cache_;
  KnownSources known_sources_;
  Outputs outputs_;
  CardInputs inputs_;
  bool has_trained_ = false;
  KernelsAhead kernels_ahead_;  // last, so that its threads end first
};

}  // namespace stoker
