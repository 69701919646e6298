#include "predict/caution.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace stoker {
namespace {

constexpr std::array<std::string_view, 1> doubtful_names{"probabilities"};  // of Doubtful

std::string_view name_of_doubtful(Doubtful what) {
  return doubtful_names[static_cast<std::size_t>(what)];
}

}  // namespace

nlohmann::json to_json(const std::vector<Caution>& cautions) {
  nlohmann::json list = nlohmann::json::array();
  for (const Caution& each : cautions)
    list.push_back({{"about", name_of_doubtful(each.what)}, {"text", each.text}});
  return list;
}

std::vector<Caution> cautions_from(const nlohmann::json& json) {
  try {
    std::vector<Caution> cautions;
    for (const nlohmann::json& each : json) {
      const auto found = std::ranges::find(doubtful_names, each.at("about").get<std::string>());
      if (found == doubtful_names.end()) continue;
      cautions.push_back(
          {static_cast<Doubtful>(found - doubtful_names.begin()), each.at("text").get<std::string>()});
    }
    return cautions;
  } catch (const nlohmann::json::exception& error) {
    refuse("this is not a list of cautions: {}", error.what());
  }
}

}  // namespace stoker
