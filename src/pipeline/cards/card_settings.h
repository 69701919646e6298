#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "pipeline/card.h"

// What the cards share: their settings are one struct with fields.
namespace stoker {

using config::checked;
using config::described;

// Settings that were checked when the document was read.
template <class Config>
Config settings_of(const config::Value& config) {
  config::Diagnostics diagnostics("");
  Config result = config::read<Config>(config, "", diagnostics);
  if (!diagnostics.empty()) fail("settings of a card were not checked: {}", diagnostics.text());
  return result;
}

// For a rule between two settings: where the setting stands, or else where its card does.
inline int line_of(const config::Value& config, std::string_view setting) {
  const config::Value* value = config.find(setting);
  return value != nullptr ? value->line() : config.line();
}

template <class Content>
const Content& input(const CardContext& context, const std::string& name) {
  return std::get<Content>(context.inputs.at(name));
}

inline const Model& input_model(const CardContext& context, const std::string& name) {
  return *input<std::shared_ptr<const Model>>(context, name);
}

}  // namespace stoker
