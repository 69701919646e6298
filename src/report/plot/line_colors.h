#pragma once

// One color for training and one for validation, in every picture. report.css and tokens.css of the web page
// have the same two.
namespace stoker {

inline constexpr const char* training_color = "#d9480f";
inline constexpr const char* validation_color = "#1c64d1";

}  // namespace stoker
