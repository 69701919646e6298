#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace stoker::test {

// Lets the fused engine of programs started from now on compute with avx512, avx2, baseline (of x86) or neon;
// false where this processor cannot.
bool compute_with(const std::string& instruction_set);

// Why weights of an engine on the CPU may have other bits here than where the set was made, as its
// expected/made-by.json says; empty when they may not.
std::string reason_for_other_bits(const nlohmann::json& made_by, const std::string& engine,
                                  const std::string& torch_version);

}  // namespace stoker::test
