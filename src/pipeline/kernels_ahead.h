#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/stop.h"
#include "pipeline/card.h"
#include "pipeline/document.h"
#include "train/fit_request.h"

namespace stoker {

// A training of a network on rows that a card reads.
struct TrainingToCome {
  std::string card;
  ModelSpec spec;
  cards::TrainSettings settings;
  std::vector<const Card*> way;  // of the document, that pass its rows on from the card that reads them
};
// Those of the `running` cards, by the card that reads what they train on, as a whole or in parts.
std::map<std::string, std::vector<TrainingToCome>> trainings_to_come(const Document& document,
                                                                     const std::set<std::string>& running);

// Compiles the kernels of trainings to come in threads of its own, while the run goes on. What goes wrong
// there is left to the training itself to meet and to tell.
class KernelsAhead {
 public:
  using Compile = std::function<void(const FitRequest& first_rows, const StopSignal& stop)>;

  // Empty: compile_ahead() of train/, where there is a GPU.
  explicit KernelsAhead(Compile instead) : instead_(std::move(instead)) {}
  KernelsAhead(const KernelsAhead&) = delete;
  KernelsAhead& operator=(const KernelsAhead&) = delete;
  // Gives up what is not done and waits for the threads.
  ~KernelsAhead() { stop_.interrupt(); }

  void begin(std::vector<TrainingToCome> trainings, const CardType& reader, const Outside& opened);

 private:
  void compile(const std::vector<TrainingToCome>& trainings, const CardType& reader,
               const Outside& opened) const;

  Compile instead_;
  StopSignal stop_;
  std::vector<std::jthread> threads_;
};

}  // namespace stoker
