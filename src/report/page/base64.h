#pragma once

#include <string>
#include <string_view>

namespace stoker {

// RFC 4648, with padding.
std::string base64_of(std::string_view bytes);
// Whether a text is that of so many bytes.
bool is_base64_of(std::string_view text, std::size_t bytes);
// The bytes of a text that is one.
std::string bytes_of_base64(std::string_view text);

}  // namespace stoker
