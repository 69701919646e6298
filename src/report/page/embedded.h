#pragma once

#include <string_view>

// The files of page/ and of uPlot, put into the program by embed.cmake.
namespace stoker::embedded {

extern const std::string_view page;
extern const std::string_view style;
extern const std::string_view script;
extern const std::string_view label_script;
extern const std::string_view experts_script;
extern const std::string_view cubes_script;
extern const std::string_view plot_style;
extern const std::string_view plot_script;

}  // namespace stoker::embedded
