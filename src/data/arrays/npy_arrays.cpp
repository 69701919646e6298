#include <algorithm>
#include <array>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text/text.h"
#include "data/arrays/columns_first.h"
#include "data/arrays/stored_array.h"
#include "data/format/npy_header.h"
#include "data/format/zip.h"
#include "data/memory/unpacked_limits.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

StoredType npy_type(const std::string& descr, const std::string& shown) {
  constexpr std::array<std::pair<std::string_view, StoredType>, 12> known{{{"f8", StoredType::float64},
                                                                           {"f4", StoredType::float32},
                                                                           {"f2", StoredType::float16},
                                                                           {"i8", StoredType::int64},
                                                                           {"i4", StoredType::int32},
                                                                           {"i2", StoredType::int16},
                                                                           {"i1", StoredType::int8},
                                                                           {"u8", StoredType::uint64},
                                                                           {"u4", StoredType::uint32},
                                                                           {"u2", StoredType::uint16},
                                                                           {"u1", StoredType::uint8},
                                                                           {"b1", StoredType::uint8}}};
  const std::string_view order("<>|");
  if (descr.size() == 3 && order.find(descr[0]) != std::string_view::npos)
    for (const auto& [name, type] : known)
      if (descr.substr(1) == name) return type;
  if (descr.find('O') != std::string::npos)
    refuse("{} holds Python objects, which are never loaded; save it as an array of numbers", shown);
  refuse("{} holds elements of type '{}'; floating-point numbers, integers and booleans can be read", shown,
         printable(descr));
}

// Of numbers that begin at `from.begin` and may have `bytes` bytes. Where they have to be unpacked first,
// `unpacked` gives the file that they lie in then.
StoredArray array_of(const NpyHeader& header, StoredNumbers from, std::int64_t bytes,
                     const std::string& shown, const std::function<fs::path()>& unpacked = {}) {
  from.type = npy_type(header.descr, shown);
  from.is_big_endian = header.descr.front() == '>';
  if (header.shape.empty()) refuse("{} is a single number, not an array", shown);
  size_of_shape(header.shape, bytes / static_cast<std::int64_t>(size_of(from.type)), shown);
  const bool is_columns_first = header.fortran_order && header.shape.size() > 1;
  StoredArray array{.name = {}, .shape = header.shape, .read = {}};
  if (from.type == StoredType::float32 && !from.is_big_endian && from.begin % 4 == 0 && !unpacked &&
      !is_columns_first)
    array.floats = from;
  array.read = [from, unpacked, slice = size_of_slice(header.shape),
                turned = is_columns_first ? std::make_shared<ColumnsFirst>(header.shape) : nullptr](
                   std::int64_t first, std::int64_t count, float* to) {
    StoredNumbers now = from;
    if (unpacked) now.file = unpacked();
    if (turned != nullptr)
      turned->read(now, first, count, to);
    else
      read_numbers(now, first * slice, count * slice, to);
  };
  return array;
}

// A packed array is unpacked once, by who needs it first.
class UnpackedNpy {
 public:
  explicit UnpackedNpy(std::function<std::shared_ptr<const UnnamedFile>()> unpack)
      : unpack_(std::move(unpack)) {}
  fs::path file() {
    const std::lock_guard lock(mutex_);
    if (file_ == nullptr) file_ = unpack_();
    return file_->path();
  }

 private:
  std::function<std::shared_ptr<const UnnamedFile>()> unpack_;
  std::mutex mutex_;
  std::shared_ptr<const UnnamedFile> file_;
};

StoredArray zipped_array(const ZippedFile& zipped, const fs::path& file, const std::string& shown) {
  std::istringstream start(zipped.start);
  const NpyHeader header = read_npy_header(start, shown);
  const std::int64_t bytes = static_cast<std::int64_t>(zipped.bytes) - header.begin;
  const StoredNumbers from{file, header.begin + zipped.begin.value_or(0), {}, false};
  if (zipped.begin) return array_of(header, from, bytes, shown);
  return array_of(header, from, bytes, shown,
                  [unpacked = std::make_shared<UnpackedNpy>(zipped.unpack)] { return unpacked->file(); });
}

}  // namespace

StoredArray npy_array(const fs::path& file, const std::string& shown) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) refuse("{} cannot be opened", shown);
  const NpyHeader header = read_npy_header(stream, shown);
  std::error_code error;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(file, error));
  if (error) refuse("{} cannot be read: {}", shown, error.message());
  return array_of(header, {file, header.begin, {}, false}, bytes - header.begin, shown);
}

std::vector<StoredArray> npz_arrays(const fs::path& file, const std::string& shown) {
  constexpr std::size_t longest_start = std::size_t{66} << 10U;  // more than any header takes
  std::vector<StoredArray> arrays;
  const std::vector<ZippedFile> zipped = zipped_files(file, shown, longest_start);
  std::uint64_t unpacked_bytes = 0;
  for (const ZippedFile& each : zipped)
    if (!each.begin) unpacked_bytes += each.bytes;
  refuse_if_packed_too_well(unpacked_bytes, fs::file_size(file), shown);
  for (const ZippedFile& each : zipped) {
    if (!each.name.ends_with(".npy")) continue;
    const std::string name = each.name.substr(0, each.name.size() - 4);
    try {
      arrays.push_back(zipped_array(each, file, fmt::format("{}: the array '{}'", shown, printable(name))));
    } catch (const Error& error) {
      arrays.push_back({.name = {}, .shape = {}, .read = {}, .problem = error.what()});
    }
    arrays.back().name = name;
  }
  if (arrays.empty()) refuse("{} holds no arrays", shown);
  return arrays;
}

}  // namespace stoker
