#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// What an evaluation found that predictions should not be relied on for.
namespace stoker {

enum class Doubtful { probabilities };

struct Caution {
  Doubtful what = Doubtful::probabilities;
  std::string text;  // for people: what was found and what to do

  bool operator==(const Caution&) const = default;
};
nlohmann::json to_json(const std::vector<Caution>& cautions);
// Those that this version knows. Throws an error if it is no such list.
std::vector<Caution> cautions_from(const nlohmann::json& json);

}  // namespace stoker
