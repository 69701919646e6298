#pragma once

#include <cstdint>

namespace stoker::database {

// A whole number as networks send it.
template <class T>
T big_endian(const char* bytes) {
  T value = 0;
  __builtin_memcpy(&value, bytes, sizeof(T));
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(value)));
  if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(value)));
  if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(value)));
  return value;
}

}  // namespace stoker::database
