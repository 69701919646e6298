#pragma once

#include <string>

#include "config/value.h"
#include "model/family.h"
#include "train/fit/training.h"

namespace stoker {

// What a model_define card puts out: a family with its settings, not yet trained.
struct ModelSpec {
  std::string family;
  config::Value settings;     // the family's own, checked, every default written out
  TrainingSettings training;  // of a family that is trained by gradients

  bool is_solved() const;
};

inline const Family& family_of(const ModelSpec& spec) {
  return family_named(spec.family);
}
inline bool ModelSpec::is_solved() const {
  return family_of(*this).is_solved();
}

}  // namespace stoker
