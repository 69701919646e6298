#pragma once

#include "data/placement/dataset.h"
#include "data/prepare/preparation.h"
#include "engine/engine.h"
#include "train/fit/fit_request.h"

// What an engine is asked for, of settings and rows that are prepared.
namespace stoker {

struct PreparedData {
  Preparation preparation;
  Dataset training;
  Dataset validation;  // no arrays when there is none
};

// All that does not take the rows themselves.
EngineRequest request_without_data(const ModelSpec& spec, const Preparation& preparation, Device device);
// With what depends on how many rows there are.
EngineRequest request_without_rows(const ModelSpec& spec, const PreparedData& data, Device device,
                                   const FitConfig& config);
EngineRequest engine_request(const ModelSpec& spec, const PreparedData& data, Device device,
                             const FitConfig& config = {});

}  // namespace stoker
