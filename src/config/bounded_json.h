#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace stoker::config {

// How much a JSON file from outside may be. An empty list is two characters of text and a hundred bytes of
// memory, so the size of the text alone bounds little.
struct JsonBounds {
  std::size_t values = 1'000'000;    // keys counted too
  std::size_t containers = 100'000;  // lists and objects, the dearest of them
  int depth = 16;
};

// Counts before it builds, so that a file beyond the bounds costs no memory. Rejects such a file, and one
// with a number that is too large for a double; text that is no JSON throws nlohmann::json::parse_error.
nlohmann::json parse_bounded_json(std::string_view text, const JsonBounds& bounds);

}  // namespace stoker::config
