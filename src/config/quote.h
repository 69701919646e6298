#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stoker::config {

// Text of a document as it may be shown in a message: control characters escaped, so that a hostile
// document cannot speak to the terminal, and long text cut.
std::string shown(std::string_view text, std::size_t longest = 60);

// The same in single quotes.
std::string in_quotes(std::string_view text);

}  // namespace stoker::config
