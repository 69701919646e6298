#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/request_check.h"
#include "kernels/epoch_work.h"

// Accuracy by epoch, from the rows whose class an engine predicted right.
namespace stoker {

inline bool is_of_classes(const LossTerm& term, const Network& network) {
  return term.kind == Loss::cross_entropy ||
         (term.kind == Loss::binary_cross_entropy && width_of(term, network) == 1);
}

// The one loss of classes among all losses of a request; null if there is none, or several.
inline const LossTerm* term_of_classes(const EngineRequest& request) {
  const auto is_one = [&](const LossTerm& term) { return is_of_classes(term, request.network); };
  if (std::ranges::count_if(request.losses, is_one) != 1) return nullptr;
  return &*std::ranges::find_if(request.losses, is_one);
}

// train_accuracy is that of the rows as they were trained on: while the weights changed, and with dropout.
inline void add_accuracy(const kernels::EpochLine& line, const EngineRequest& request, EpochRecord& record) {
  const auto share = [](double hits, std::int64_t rows) { return hits / static_cast<double>(rows); };
  // Not true of NaN: hits of an epoch that began in an earlier version's checkpoint.
  if (line.train_hits >= 0)
    record.values.push_back({"train_accuracy", share(line.train_hits, request.rows_per_epoch())});
  if (line.validation_hits >= 0 && request.validation.rows() > 0)
    record.values.push_back({"validation_accuracy", share(line.validation_hits, request.validation.rows())});
}

}  // namespace stoker
