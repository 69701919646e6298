#pragma once

#include <string_view>

// The kernel's own text, put into the program by embed.cmake: what the run-time compiler reads.
namespace stoker::fused::sources {

extern const std::string_view random;
extern const std::string_view plan;
extern const std::string_view ptx;
extern const std::string_view step;
extern const std::string_view work;

}  // namespace stoker::fused::sources
