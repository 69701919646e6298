#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

// What stands in place of a verdict if there is too little to test with.
namespace stoker {

// The main metric with the model and without it.
struct UntestedSkill {
  std::string reason;  // "too little test time to tell by a test (21 rows in 2 blocks …)"
  std::string baseline;
  std::string metric;
  double of_model = 0;
  double of_baseline = 0;
  bool is_worse = false;
  bool is_better = false;  // both are false if the metrics are equal
};

// "too little test time to tell by a test (…); it was worse than always predicting the last value (rmse 5251
// against 1430)"
std::string text_of(const UntestedSkill& untested);
nlohmann::json to_json(const UntestedSkill& untested);
UntestedSkill untested_skill_from(const nlohmann::json& json);  // throws an error if it is none

}  // namespace stoker
