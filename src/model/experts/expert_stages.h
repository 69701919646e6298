#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/restructuring.h"

// Experts where the classes arrive in stages. Where rows of earlier stages are trained on again, they learn
// as ever. Where they are not, a later stage begins with new experts, and those that know the earlier classes
// rest until it is over, and so does the first layer of the router; then everybody wakes, and a gate before
// the router tells whose stage a row is like. It is a linear regression on what the first layer of the router
// puts out: of earlier stages it needs sums and products of these numbers, and no row. docs/experts.md says
// what that is good for.
namespace stoker {

std::vector<StructureEvent> begin_stage_of_experts(const StageMoment& moment, NamedArrays& parameters,
                                                   nlohmann::json& memory);
std::vector<StructureEvent> end_stage_of_experts(const StageMoment& moment, const NamedArrays& before,
                                                 NamedArrays& parameters, NamedArrays& kept,
                                                 nlohmann::json& memory);
std::vector<std::string> frozen_in_stage_of_experts(const Network& network, const nlohmann::json& memory);

}  // namespace stoker
