#include "data/table/table_faults.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/api.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "base/error.h"
#include "base/quick_hash.h"
#include "base/text/text.h"
#include "data/cubes/cubes.h"
#include "data/dates/date_form.h"
#include "data/memory/arrow_result.h"
#include "data/memory/kept_columns.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

enum FaultKind : std::uint8_t { is_nan = 1, is_infinite = 2, is_out_of_range = 4, is_cut_short = 8 };
constexpr std::array<std::pair<std::uint8_t, const char*>, 4> kinds_of_values{
    {{is_nan, "nan"},
     {is_infinite, "infinite"},
     {is_out_of_range, "out of range"},
     {is_cut_short, "cut short"}}};

// The numbers of a column one behind the other, however deep its arrays are.
struct FlatColumn {
  std::shared_ptr<arrow::ChunkedArray> values;
  std::int64_t width = 1;  // to a row
};

FlatColumn flat_column(const std::shared_ptr<arrow::ChunkedArray>& column) {
  FlatColumn flat{column};
  while (flat.values->type()->id() == arrow::Type::FIXED_SIZE_LIST) {
    const auto& list = static_cast<const arrow::FixedSizeListType&>(*flat.values->type());
    arrow::ArrayVector chunks;
    for (const auto& chunk : flat.values->chunks()) {
      const auto& lists = static_cast<const arrow::FixedSizeListArray&>(*chunk);
      // Not Flatten, which leaves out what is behind a missing list.
      chunks.push_back(
          lists.values()->Slice(lists.offset() * list.list_size(), lists.length() * list.list_size()));
    }
    flat.values = std::make_shared<arrow::ChunkedArray>(std::move(chunks), list.value_type());
    flat.width *= list.list_size();
  }
  return flat;
}

struct ValueRange {
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
};

std::uint8_t fault_of(double number, const ValueRange& range) {
  if (std::isnan(number)) return is_nan;
  if (std::isinf(number)) return is_infinite;
  constexpr double largest = std::numeric_limits<float>::max();
  const bool fits = std::abs(number) <= largest;
  return fits && number >= range.lowest && number <= range.highest ? 0 : is_out_of_range;
}

class FaultFinder {
 public:
  explicit FaultFinder(const Table& table)
      : table_(table), is_faulty_(static_cast<std::size_t>(table.rows())), hashes_(is_faulty_.size()) {}

  TableFaults find(const std::map<std::string, ValueRange>& ranges) {
    for (int c = 0; c < table_.columns->num_columns(); ++c) {
      const std::string& name = table_.columns->field(c)->name();
      const auto range = ranges.find(name);
      look_at(name, table_.columns->column(c), range == ranges.end() ? ValueRange{} : range->second);
    }
    if (table_.cubes) look_at_cubes();
    find_duplicates();
    for (std::size_t row = 0; row < is_faulty_.size(); ++row)
      if (is_faulty_[row] != 0) faults_.rows.push_back(static_cast<std::int64_t>(row));
    return std::move(faults_);
  }

 private:
  void look_at(const std::string& name, const std::shared_ptr<arrow::ChunkedArray>& column,
               const ValueRange& range) {
    const FlatColumn flat = flat_column(column);
    const ColumnKind kind = kind_of(*flat.values->type());
    if (const std::int64_t missing = flat.values->null_count(); missing > 0)
      faults_.missing.emplace_back(name, missing);
    if (is_numeric(kind) || kind == ColumnKind::empty) {
      look_at_numbers(name, flat, range);
    } else if (kind == ColumnKind::text) {
      hash_texts(flat.values);
    } else {
      refuse("column '{}' has the type {}, which cannot be checked", name, column->type()->ToString());
    }
  }

  void look_at_numbers(const std::string& name, const FlatColumn& flat, const ValueRange& range) {
    const std::vector<double> numbers = read_numbers(*flat.values);
    const std::vector<bool> missing = missing_values(*flat.values);
    std::vector<std::uint8_t> found(is_faulty_.size());
    const auto width = static_cast<std::size_t>(flat.width);
    for (std::size_t row = 0; row < found.size(); ++row) {
      std::size_t lacking = 0;
      for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
        if (missing[i]) {
          ++lacking;
        } else {
          found[row] |= fault_of(numbers[i], range);
        }
      }
      if (width > 1 && lacking == width) found[row] |= is_cut_short;
      const std::span row_numbers(numbers.data() + row * width, width);
      add_hash(row, quick_hash(std::as_bytes(row_numbers), lacking));
    }
    tell(name, found);
  }

  // As they were counted when the cubes were read.
  void look_at_cubes() {
    std::vector<std::uint8_t> found(is_faulty_.size());
    for (std::size_t row = 0; row < found.size(); ++row) {
      const auto cube = static_cast<std::size_t>(cube_of(table_, static_cast<std::int64_t>(row)));
      const CubeFacts& facts = table_.cubes->facts.at(cube);
      if (facts.nan_pixels > 0) found[row] |= is_nan;
      if (facts.infinite_pixels > 0) found[row] |= is_infinite;
    }
    tell("(pixels)", found);
  }

  static std::vector<bool> missing_values(const arrow::ChunkedArray& values) {
    std::vector<bool> missing(static_cast<std::size_t>(values.length()));
    std::size_t at = 0;
    for (const auto& chunk : values.chunks())
      for (std::int64_t i = 0; i < chunk->length(); ++i) missing[at++] = chunk->IsNull(i);
    return missing;
  }

  void hash_texts(const std::shared_ptr<arrow::ChunkedArray>& values) {
    const TextValues texts = read_texts(values);
    for (std::size_t row = 0; row < texts.values.size(); ++row)
      add_hash(row, quick_hash(std::as_bytes(std::span(texts.values[row])), texts.missing[row]));
  }

  void add_hash(std::size_t row, std::uint64_t hash) {
    const std::array both{hashes_[row], hash};
    hashes_[row] = quick_hash(std::as_bytes(std::span(both)));
  }

  void tell(const std::string& name, const std::vector<std::uint8_t>& found) {
    for (const auto& [bit, kind] : kinds_of_values) {
      TableFault fault{name, kind};
      for (std::size_t row = 0; row < found.size(); ++row) {
        if ((found[row] & bit) == 0) continue;
        if (fault.rows++ == 0) fault.first_row = table_.row_number(static_cast<std::int64_t>(row));
        is_faulty_[row] = 1;
      }
      if (fault.rows > 0) faults_.found.push_back(std::move(fault));
    }
  }

  // Rows of one hash are compared.
  void find_duplicates() {
    TableFault fault{"", "duplicate"};
    std::unordered_map<std::uint64_t, std::int64_t> seen;
    seen.reserve(hashes_.size());
    for (std::size_t row = 0; row < hashes_.size(); ++row) {
      const auto at = static_cast<std::int64_t>(row);
      const auto [first, is_new] = seen.emplace(hashes_[row], at);
      if (is_new || !are_equal(first->second, at)) continue;
      if (fault.rows++ == 0) fault.first_row = table_.row_number(at);
      is_faulty_[row] = 1;
    }
    if (fault.rows > 0) faults_.found.push_back(std::move(fault));
  }

  bool are_equal(std::int64_t one, std::int64_t other) const {
    const auto options = arrow::EqualOptions::Defaults().nans_equal(true);
    for (const auto& column : table_.columns->columns())
      if (!column->Slice(one, 1)->Equals(*column->Slice(other, 1), options)) return false;
    return !table_.cubes || std::ranges::equal(values_of_cube(table_, one), values_of_cube(table_, other), {},
                                               &bits_of, &bits_of);
  }
  static std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

  const Table& table_;
  TableFaults faults_;
  std::vector<std::uint8_t> is_faulty_;
  std::vector<std::uint64_t> hashes_;
};

// A bound as a number, or as seconds since 1970; none where the text is no such.
std::optional<double> bound_in(std::string_view text, bool is_time, bool is_highest) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text.empty()) return is_highest ? infinity : -infinity;
  if (!is_time) return number_in(text);
  constexpr double almost_a_day = 86'400 - 1e-6;
  if (const auto day = DateForm("%Y-%m-%d").parse(text))
    return static_cast<double>(day->seconds) + (is_highest ? almost_a_day : 0);
  for (const char* form : {"%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"})
    if (const auto moment = DateForm(form).parse(text))
      return static_cast<double>(moment->seconds) + 1e-9 * moment->nanoseconds;
  return std::nullopt;
}

// Times have colons too: the one between the bounds is that with a bound on either side.
ValueRange range_in(const std::string& text, const std::string& name, bool is_time) {
  for (std::size_t colon = text.find(':'); colon != std::string::npos; colon = text.find(':', colon + 1)) {
    const auto lowest = bound_in(std::string_view(text).substr(0, colon), is_time, false);
    const auto highest = bound_in(std::string_view(text).substr(colon + 1), is_time, true);
    if (!lowest || !highest) continue;
    if (!(*lowest <= *highest)) refuse("the range of column '{}' holds nothing", name);
    return {*lowest, *highest};
  }
  if (is_time)
    refuse(
        "the range of column '{}', which holds dates, is LOWEST:HIGHEST such as 2020-01-01:2024-12-31, found "
        "'{}'",
        name, text);
  refuse("the range of column '{}' is LOWEST:HIGHEST such as 0:11000, found '{}'", name, text);
}

bool holds_dates(const arrow::DataType& type) {
  return type.id() == arrow::Type::TIMESTAMP || type.id() == arrow::Type::DATE32 ||
         type.id() == arrow::Type::DATE64;
}

std::map<std::string, ValueRange> ranges_of(const Table& table, const ValueRanges& texts) {
  std::map<std::string, ValueRange> ranges;
  for (const auto& [name, text] : texts) {
    const auto column = flat_column(table.columns->column(column_position(table, name))).values;
    const ColumnKind kind = kind_of(*column->type());
    if (!is_numeric(kind) || (kind == ColumnKind::time && !holds_dates(*column->type())))
      refuse("column '{}' holds no numbers or dates ({}), so that it has no range", name,
             column->type()->ToString());
    ranges[name] = range_in(text, name, kind == ColumnKind::time);
  }
  return ranges;
}

}  // namespace

TableFaults find_faults(const Table& given, const ValueRanges& ranges) {
  Table table = given;
  table.columns = in_memory(given.columns);
  return FaultFinder(table).find(ranges_of(table, ranges));
}

Table without_faults(const Table& table, const TableFaults& faults) {
  std::vector<std::int64_t> rows;
  auto faulty = faults.rows.begin();
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    if (faulty != faults.rows.end() && *faulty == row) {
      ++faulty;
    } else {
      rows.push_back(row);
    }
  }
  return take_rows(table, std::move(rows));
}

}  // namespace stoker
