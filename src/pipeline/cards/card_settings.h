#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "pipeline/card/card.h"

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
  return std::get<Content>(context.inputs.at(name).front());
}

// Null when it is not connected.
template <class Content>
const Content* optional_input(const CardContext& context, const std::string& name) {
  return context.inputs.contains(name) ? &input<Content>(context, name) : nullptr;
}

// Of an input that takes several.
template <class Content>
std::vector<Content> all_inputs(const CardContext& context, const std::string& name) {
  std::vector<Content> contents;
  if (!context.inputs.contains(name)) return contents;
  for (const PortValue& value : context.inputs.at(name)) contents.push_back(std::get<Content>(value));
  return contents;
}

inline const Model& input_model(const CardContext& context, const std::string& name) {
  return *input<std::shared_ptr<const Model>>(context, name);
}

}  // namespace stoker
