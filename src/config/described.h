#pragma once

#include <memory>
#include <string>

#include "config/field.h"

// Settings apart from the place where they are used: for showing them, and for a table whose rows each have
// others.
namespace stoker::config {

// Fields with the struct that they point into.
struct Described {
  std::shared_ptr<void> owner;
  Fields fields;
};

// Those of one family of models or the like.
struct TitledSettings {
  std::string title;  // "Hyperparameters of `ridge`"
  Described settings;
};

template <class Config>
Described described() {
  auto owner = std::make_shared<Config>();
  return {owner, fields(*owner)};
}

// Checks settings and returns them with every default written out.
template <class Config>
Value checked(const Value& config, const std::string& path, Diagnostics& diagnostics) {
  return write(read<Config>(config, path, diagnostics));
}

}  // namespace stoker::config
