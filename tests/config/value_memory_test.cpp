#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "config/value.h"

namespace {
// Allocations of this thread that still succeed; below 0: all do.
thread_local long left = -1;
}  // namespace

void* operator new(std::size_t bytes) {
  if (left >= 0 && left-- == 0) throw std::bad_alloc();
  if (void* const place = std::malloc(bytes == 0 ? 1 : bytes)) return place;
  throw std::bad_alloc();
}
// What is asked for in this way is freed by the same delete, and a sanitizer wants both from one place.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return left >= 0 && left-- == 0 ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* place) noexcept {
  std::free(place);
}
void operator delete(void* place, std::size_t) noexcept {
  std::free(place);
}

namespace stoker::config {
namespace {

TEST(ValueWithoutMemory, IsCopiedWholeOrNotAtAll) {
  const Value document = parse_yaml(
      "{a: [1, a text that is too long to lie in place, {b: [2.5, ~]}], c: {d: true, e: the other long "
      "text}}",
      "document", {});
  Value assigned("as it was before, and too long to lie in place");
  int failures = 0;
  for (bool is_copied = false; !is_copied; ++failures) {
    ASSERT_LT(failures, 1000);
    left = failures;
    try {
      const Value copy = document;
      assigned = copy;
      is_copied = true;
    } catch (const std::bad_alloc&) {
    }
    left = -1;
    EXPECT_EQ(assigned.get_if<std::string>() == nullptr, is_copied);
  }
  EXPECT_GT(failures, 10);
  EXPECT_EQ(to_yaml(assigned), to_yaml(document));
}

}  // namespace
}  // namespace stoker::config
