#include "data/arrays/stored_array.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <arrow/util/float16.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file_errors.h"
#include "base/text/text.h"

namespace stoker {
namespace {

class OpenedNumbers {
 public:
  explicit OpenedNumbers(const std::filesystem::path& file)
      : descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) refuse_read(file, errno);
  }
  OpenedNumbers(const OpenedNumbers&) = delete;
  OpenedNumbers& operator=(const OpenedNumbers&) = delete;
  ~OpenedNumbers() { ::close(descriptor_); }

  void read(std::int64_t begin, std::size_t bytes, void* to, const std::filesystem::path& file) const {
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t got = ::pread(descriptor_, static_cast<char*>(to) + done, bytes - done,
                                  begin + static_cast<std::int64_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse_read(file, errno);
      if (got == 0)
        refuse("{} is cut off: it ends at byte {}, in the middle of its numbers", file.string(),
               begin + std::int64_t(done));
      done += static_cast<std::size_t>(got);
    }
  }

 private:
  int descriptor_;
};

void swap_bytes(std::vector<std::byte>& bytes, std::size_t size) {
  if (size == 1) return;
  for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(size))
    std::reverse(at, at + static_cast<std::ptrdiff_t>(size));
}

template <class Number>
void convert_numbers(const std::vector<std::byte>& bytes, float* to) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(Number); ++i) {
    Number number;
    std::memcpy(&number, bytes.data() + i * sizeof(Number), sizeof(Number));
    to[i] = static_cast<float>(number);
  }
}

void convert_halves(const std::vector<std::byte>& bytes, float* to) {
  for (std::size_t i = 0; i < bytes.size() / 2; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * 2, 2);
    to[i] = arrow::util::Float16::FromBits(bits).ToFloat();
  }
}

void convert_stored(StoredType type, const std::vector<std::byte>& bytes, float* to) {
  switch (type) {
    case StoredType::int8:
      return convert_numbers<std::int8_t>(bytes, to);
    case StoredType::uint8:
      return convert_numbers<std::uint8_t>(bytes, to);
    case StoredType::int16:
      return convert_numbers<std::int16_t>(bytes, to);
    case StoredType::uint16:
      return convert_numbers<std::uint16_t>(bytes, to);
    case StoredType::int32:
      return convert_numbers<std::int32_t>(bytes, to);
    case StoredType::uint32:
      return convert_numbers<std::uint32_t>(bytes, to);
    case StoredType::int64:
      return convert_numbers<std::int64_t>(bytes, to);
    case StoredType::uint64:
      return convert_numbers<std::uint64_t>(bytes, to);
    case StoredType::float16:
      return convert_halves(bytes, to);
    case StoredType::float32:
      return convert_numbers<float>(bytes, to);
    case StoredType::float64:
      return convert_numbers<double>(bytes, to);
  }
}

}  // namespace

std::size_t size_of(StoredType type) {
  switch (type) {
    case StoredType::int8:
    case StoredType::uint8:
      return 1;
    case StoredType::int16:
    case StoredType::uint16:
    case StoredType::float16:
      return 2;
    case StoredType::int32:
    case StoredType::uint32:
    case StoredType::float32:
      return 4;
    case StoredType::int64:
    case StoredType::uint64:
    case StoredType::float64:
      return 8;
  }
  return 0;
}

void read_numbers(const StoredNumbers& from, std::int64_t first, std::int64_t count, float* to) {
  static_assert(std::endian::native == std::endian::little);
  const std::size_t size = size_of(from.type);
  const OpenedNumbers file(from.file);
  const std::int64_t begin = from.begin + first * static_cast<std::int64_t>(size);
  if (from.type == StoredType::float32 && !from.is_big_endian)
    return file.read(begin, static_cast<std::size_t>(count) * size, to, from.file);
  constexpr std::size_t at_once = std::size_t{1} << 17U;  // stays in the cache between the two passes
  std::vector<std::byte> bytes;
  for (std::size_t done = 0; done < static_cast<std::size_t>(count);) {
    const std::size_t now = std::min(at_once, static_cast<std::size_t>(count) - done);
    bytes.resize(now * size);
    file.read(begin + static_cast<std::int64_t>(done * size), bytes.size(), bytes.data(), from.file);
    if (from.is_big_endian) swap_bytes(bytes, size);
    convert_stored(from.type, bytes, to + done);
    done += now;
  }
}

std::int64_t size_of_shape(const Shape& shape, std::int64_t most, const std::string& shown) {
  std::int64_t size = 1;
  for (const std::int64_t each : shape) {
    if (each < 1) refuse("{} is empty: it has the shape {}", shown, shape_text(shape));
    if (__builtin_mul_overflow(size, each, &size) || size > most)
      refuse("{} is cut off: it should hold {} numbers, but has bytes for only {}", shown, shape_text(shape),
             human_count(static_cast<std::uint64_t>(most)));
  }
  return size;
}

std::int64_t size_of_slice(const Shape& shape) {
  std::int64_t size = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) size *= shape[i];
  return size;
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t each : shape) text += fmt::format("{}{}", text.empty() ? "" : " x ", each);
  return text.empty() ? "no dimensions" : text;
}

}  // namespace stoker
