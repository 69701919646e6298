#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/process/stop.h"
#include "pipeline/card/card.h"
#include "pipeline/document/document.h"
#include "train/fit/fit_request.h"

namespace stoker {

// Compiles the kernels of trainings to come in threads of its own, while the run goes on. What goes wrong
// there is left to the training itself to meet and to tell.
class KernelsAhead {
 public:
  using Compile = std::function<void(const FitRequest& first_rows, const StopSignal& stop)>;

  // For the trainings of the `running` cards. `instead` empty: compile_ahead() of train/, where there is a
  // GPU. The document must live as long.
  KernelsAhead(const Document& document, const std::set<std::string>& running, Compile instead);
  KernelsAhead(const KernelsAhead&) = delete;
  KernelsAhead& operator=(const KernelsAhead&) = delete;
  // Gives up what is not done and waits for the threads.
  ~KernelsAhead() { stop_.interrupt(); }

  // Begins with the trainings on what this card reads, as a whole or in parts. One whose outcome is kept
  // needs no kernel.
  void begin(const Card& reader, const Outside& opened,
             const std::function<bool(const Card& training)>& is_kept);

 private:
  // A training of a network on rows that a card reads.
  struct TrainingToCome {
    const Card* card;
    ModelSpec spec;
    std::vector<const Card*> way;  // the cards that pass its rows on from the one that reads them
  };
  void compile(const std::vector<TrainingToCome>& trainings, const CardType& reader,
               const Outside& opened) const;

  std::map<std::string, std::vector<TrainingToCome>> to_come_;  // by the card that reads
  Compile instead_;
  StopSignal stop_;
  std::vector<std::jthread> threads_;
};

}  // namespace stoker
