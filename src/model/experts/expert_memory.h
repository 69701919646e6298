#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/network.h"
#include "model/restructuring.h"

// What experts remember of their lives, see expert_lives.h, and the memory that they need themselves.
namespace stoker {

std::string room_problem_of_experts(const Network& network, std::uint64_t bytes);
nlohmann::json begin_lives(const Network& network);
void check_lives(const Network& network, const nlohmann::json& memory);
std::int64_t next_step_of_lives(const Network& network, const nlohmann::json& memory);
std::int64_t rows_to_remember(const Network& network);
constexpr std::size_t most_expert_epochs = 40;  // of which the graph is kept
std::int64_t epochs_between_expert_records(const nlohmann::json& memory);
// The graph at the end of an epoch, for pictures. With too many, every other one is dropped.
void remember_epoch(nlohmann::json epoch, nlohmann::json& memory);
constexpr std::size_t most_expert_events = 1000;  // the newest, of all that happened
// What was done, behind what was done before; of all too many, the newest.
void remember_events(const std::vector<StructureEvent>& events, nlohmann::json& memory);

}  // namespace stoker
