#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace stoker::test {

// Where two values first differ, as words for a person; empty when all that is expected is there. Objects may
// have gained members since. Numbers may differ by this share of the larger one.
std::string difference(const nlohmann::json& expected, const nlohmann::json& found, double share = 0);

// The same for two texts of comma-separated values, by the largest number of each column.
std::string difference_of_tables(const std::string& expected, const std::string& found, double share);

// The same for two files of weights, whose bits are compared; says how far apart the values are.
std::string difference_of_weights(const std::filesystem::path& expected, const std::filesystem::path& found);

}  // namespace stoker::test
