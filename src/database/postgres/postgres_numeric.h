#pragma once

#include <cstddef>
#include <string_view>

namespace stoker::database {

// PostgreSQL's numeric as the nearest double. What is wrong with its bytes, or null.
const char* decode_numeric(std::string_view bytes, std::byte* place);

}  // namespace stoker::database
