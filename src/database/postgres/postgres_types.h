#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "database/columns.h"

// Values as PostgreSQL sends them in binary: big-endian, times counted from the year 2000.
namespace stoker::database {

struct PostgresType {
  ValueType type = ValueType::text;
  // Writes one value of a fixed size; what is wrong with its bytes, or null. None: text.
  const char* (*decode)(std::string_view bytes, std::byte* place) = nullptr;
  // Text that is sent in another form than its bytes.
  std::string (*to_text)(std::string_view bytes) = nullptr;
  bool is_array = false;
  unsigned element = 0;  // its type, of an array
};

// By the number that PostgreSQL's catalogue has for a built-in type; none for those that cannot be read.
std::optional<PostgresType> postgres_type(unsigned oid);

}  // namespace stoker::database
