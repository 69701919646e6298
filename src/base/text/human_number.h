#pragma once

#include <string>

namespace stoker {

// For people: six significant digits, or all before the point: "0.0712346", "32,577.3", "1,061,234,567".
std::string human_number(double number);

}  // namespace stoker
