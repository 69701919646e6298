#pragma once

#include "base/error.h"
#include "config/usual_bounds.h"
#include "model/nodes/node.h"

// Channels that a setting names and those that come in.
namespace stoker::nodes {

inline config::Field channel_count_field(std::string name, std::int64_t& member) {
  return config::field(std::move(name), member, "Channels that are expected; 0: those that come in")
      .within(0, config::widest_layer);
}

// Refuses others than `expected`, unless that is 0 or nobody knows yet.
inline void check_channels(std::int64_t expected, std::string_view setting, const Ports& connected) {
  const std::int64_t found = connected[0].shape.back();
  if (expected > 0 && found >= 0 && found != expected)
    refuse("{} is {}, but {} comes in at '{}': {}", setting, expected,
           describe(connected[0].type, connected[0].shape), connected[0].name,
           "leave the setting out, or give the number that comes in");
}

// Refuses two inputs of which one has other channels than the other, as far as both are known.
inline void check_same_channels(const Port& one, const Port& other) {
  const std::int64_t channels = one.shape.back(), others = other.shape.back();
  if (channels >= 0 && others >= 0 && channels != others)
    refuse("'{}', {}, and '{}', {}, have different numbers of channels", one.name,
           describe(one.type, one.shape), other.name, describe(other.type, other.shape));
}
inline void check_same_channels(const Values& inputs, std::string_view one, std::string_view other) {
  const auto port = [&](std::string_view name) {
    const Array& value = value_at(inputs, name);
    return Port{std::string(name), value.type(), value.shape(), ""};
  };
  check_same_channels(port(one), port(other));
}

}  // namespace stoker::nodes
