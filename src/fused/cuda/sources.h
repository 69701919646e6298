#pragma once

#include <span>
#include <string_view>

// The kernels' own text, put into the program by embed.cmake: what the run-time compiler reads.
namespace stoker::fused::sources {

struct Text {
  const char* name;  // as it is included
  std::string_view text;
};
std::span<const Text> all();

}  // namespace stoker::fused::sources
