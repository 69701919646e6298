#pragma once

#include <nlohmann/json.hpp>

#include "pipeline/cards/card_settings.h"
#include "pipeline/cards/cards.h"
#include "train/explain/step_arrays.h"
#include "train/explain/step_report.h"

// What the cards of one training step have in common: what they hand on are arrays, and what they show is a
// report.
namespace stoker::cards {

inline const NamedArrays& arrays_at(const CardContext& context, const std::string& name) {
  return *input<std::shared_ptr<const NamedArrays>>(context, name);
}

template <class Part>
PortValue part_of_step(const Part& part) {
  return std::make_shared<const NamedArrays>(to_arrays(part));
}

inline PortValue report_of_step(nlohmann::json report) {
  return std::make_shared<const nlohmann::json>(std::move(report));
}

inline Notes notes_of(const CardContext& context) {
  return
      [&context](Severity severity, const std::string& message) { context.listener.note(severity, message); };
}

}  // namespace stoker::cards
