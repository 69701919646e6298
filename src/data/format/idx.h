#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace arrow {
class DataType;
}

// One file in IDX form, as MNIST and its kin come: two zeros, a type, a number of dimensions, their sizes and
// the numbers themselves, the highest byte first. As it is or packed (.gz, .zst, .bz2).
namespace stoker {

struct IdxArray {
  std::filesystem::path file;
  std::shared_ptr<arrow::DataType> type;
  std::int64_t element_bytes = 0;
  std::vector<std::int64_t> sizes;  // rows first
  bool is_packed = false;

  std::int64_t rows() const { return sizes.front(); }
  std::int64_t values_of_row() const;  // 1 where there are rows alone
  std::int64_t header_bytes() const { return 4 * (1 + std::ssize(sizes)); }
  std::string shape() const;  // for people: 60000 x 28 x 28
};

// Whether a name ends like that of such a file: -idx3-ubyte, .idx1-ubyte.gz.
bool is_idx_name(const std::filesystem::path& name);
// Whether a file that is not packed begins like one.
bool begins_like_idx(std::string_view start);

// What the header says. Refuses a header that cannot be, sizes beyond all reason, and a file that is not as
// long as its header says, as far as that shows without unpacking it.
IdxArray look_at_idx(const std::filesystem::path& file);

// The first `rows` rows, each value into its column: `columns` has one place for each value of a row, with
// room for all these rows. Of all rows it also refuses what the file has beyond them.
void read_idx(const IdxArray& array, std::int64_t rows, const std::vector<std::uint8_t*>& columns);

}  // namespace stoker
