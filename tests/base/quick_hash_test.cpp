#include "base/quick_hash.h"

#include <vector>

#include <gtest/gtest.h>

namespace stoker {
namespace {

std::vector<std::byte> counting_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

// xxh64 of the Python package xxhash 3.
TEST(QuickHash, IsXxh64) {
  EXPECT_EQ(quick_hash({}), 0xef46db3751d8e999U);
  EXPECT_EQ(quick_hash(std::as_bytes(std::span("abc", 3))), 0x44bc2cf5ad770999U);
  EXPECT_EQ(quick_hash(std::as_bytes(std::span("abcdefghijklm", 13))), 0x934adbc0ebc51325U);
  EXPECT_EQ(quick_hash(counting_bytes(32)), 0xcbf59c5116ff32b4U);
  EXPECT_EQ(quick_hash(counting_bytes(101)), 0xe99038495f85381eU);
  EXPECT_EQ(quick_hash(counting_bytes(101), 7), 0xe878e9791dbc64faU);
}

}  // namespace
}  // namespace stoker
