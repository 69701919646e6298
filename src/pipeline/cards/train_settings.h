#pragma once

#include "config/field.h"
#include "data/prepare/preparation.h"
#include "train/fit/fit.h"

namespace stoker::cards {

// The settings of the cards train and train_gpu.
struct TrainSettings {
  PreparationConfig preparation;
  FitConfig fit;
};

inline config::Fields fields(TrainSettings& c) {
  config::Fields all = stoker::fields(c.preparation);
  for (config::Field& each : stoker::fields(c.fit)) all.push_back(std::move(each));
  return all;
}

}  // namespace stoker::cards
