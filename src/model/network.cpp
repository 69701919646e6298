#include "model/network.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 4> role_names{"features", "targets", "weights", "mask"};
constexpr std::array<DType, 5> types{DType::float32, DType::float64, DType::int32, DType::int64,
                                     DType::uint8};
constexpr std::size_t most_inputs = 1'000;
constexpr std::int64_t most_values_of_row = std::int64_t{1} << 31;  // of one row

Role role_named(const std::string& name) {
  const auto found = std::find(role_names.begin(), role_names.end(), name);
  if (found == role_names.end()) refuse("an input of its network has the unknown role '{}'", name);
  return static_cast<Role>(found - role_names.begin());
}

DType type_named(const std::string& name) {
  for (const DType type : types)
    if (name == name_of(type)) return type;
  refuse("an input of its network has the unknown type '{}'", name);
}

json input_to_json(const ArraySpec& input) {
  json text{{"name", input.name},
            {"role", role_names[static_cast<std::size_t>(input.role)]},
            {"type", name_of(input.type)},
            {"shape", input.shape}};
  if (!input.sizes.empty()) text["sizes"] = input.sizes;
  return text;
}

ArraySpec input_from_json(const json& text) {
  ArraySpec input;
  input.name = text.at("name").get<std::string>();
  input.role = role_named(text.at("role").get<std::string>());
  input.type = type_named(text.at("type").get<std::string>());
  input.shape = text.at("shape").get<Shape>();
  std::int64_t values = 1;
  for (const std::int64_t size : input.shape) {
    if (size < 1 || size > most_values_of_row / values)
      refuse("the input '{}' of its network does not have a valid shape", input.name);
    values *= size;
  }
  if (!text.contains("sizes")) return input;
  input.sizes = text.at("sizes").get<std::vector<std::int64_t>>();
  const bool are_counts =
      std::all_of(input.sizes.begin(), input.sizes.end(), [](std::int64_t size) { return size > 0; });
  if (static_cast<std::int64_t>(input.sizes.size()) != values || !are_counts)
    refuse("the input '{}' of its network does not have a size for each of its columns", input.name);
  return input;
}

}  // namespace

json to_json(const Network& network) {
  json inputs = json::array();
  for (const ArraySpec& input : network.inputs) inputs.push_back(input_to_json(input));
  return {{"family", network.family},
          {"settings", config::to_json(network.settings)},
          {"inputs", std::move(inputs)},
          {"outputs", network.outputs}};
}

Network network_from_json(const json& text) {
  Network network;
  network.family = text.at("family").get<std::string>();
  network.settings = config::from_json(text.at("settings"));
  const json& inputs = text.at("inputs");
  if (!inputs.is_array() || inputs.size() > most_inputs) refuse("its network has no list of inputs");
  for (const json& input : inputs) network.inputs.push_back(input_from_json(input));
  network.outputs = text.at("outputs").get<std::int64_t>();
  if (network.outputs < 1) refuse("its network has {} outputs", network.outputs);
  return network;
}

std::int64_t feature_width(const std::vector<ArraySpec>& inputs) {
  std::int64_t width = 0;
  for (const ArraySpec& input : inputs) {
    if (input.role != Role::features) continue;
    std::int64_t size = 1;
    for (const std::int64_t each : input.shape) size *= each;
    width += size;
  }
  return width;
}

}  // namespace stoker
