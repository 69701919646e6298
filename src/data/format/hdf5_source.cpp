#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/files/hashed_file.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "data/format/hdf5_object.h"
#include "data/format/table_files.h"
#include "data/source/database_rows.h"
#include "data/source/source_reader.h"

// Each dataset of an HDF5 file is a column, whose first dimension is the rows; more dimensions make arrays.
namespace stoker {
namespace {

namespace fs = std::filesystem;
using database::ColumnForm;
using database::ColumnValues;
using database::Rows;
using database::ValueType;

struct Hdf5Type {
  ValueType type = ValueType::nothing;
  hdf5::Id memory = -1;  // as which it is read; text is read as it is
};

class Hdf5Dataset {
 public:
  Hdf5Dataset(const hdf5::Object& file, std::string path, const std::string& shown, hdf5::OtherFiles others)
      : path_(std::move(path)),
        shown_(shown),
        dataset_(hdf5::opened_dataset(file, path_, others, fmt::format("'{}'", shown))),
        space_(dataset_.is_open() ? h5_.space(dataset_.id()) : -1, h5_.close_space),
        type_(dataset_.is_open() ? h5_.type(dataset_.id()) : -1, h5_.close_type) {
    if (!dataset_.is_open() || !space_.is_open() || !type_.is_open())
      refuse("'{}' has no dataset '{}' that can be opened", shown_, path_);
    const int dimensions = h5_.dimensions(space_.id());
    if (dimensions < 1 || dimensions > 7)
      refuse(
          "'{}': the dataset '{}' has {} dimensions; from 1 to 7 can be read, the first of which are the "
          "rows",
          shown_, path_, std::max(dimensions, 0));
    sizes_.resize(static_cast<std::size_t>(dimensions));
    h5_.sizes(space_.id(), sizes_.data(), nullptr);
  }

  std::int64_t rows() const { return static_cast<std::int64_t>(sizes_.front()); }
  const std::string& path() const { return path_; }
  // Every kind of values but those that a table has no column for.
  bool is_readable() const { return found_type().has_value(); }

  ColumnForm form(const std::string& name) const { return {name, needed_type().type, sizes_.size() > 1}; }

  ColumnValues values(std::uintmax_t file_bytes) const {
    const Hdf5Type type = needed_type();
    ColumnValues values;
    for (std::size_t d = 1; d < sizes_.size(); ++d)
      values.shape.push_back(static_cast<std::int64_t>(sizes_[d]));
    const std::size_t count = checked_count(values, file_bytes);
    if (type.type == ValueType::text) {
      read_texts(values);
      return values;
    }
    values.values.resize(count * bytes_of(type.type));
    read_into(type.memory, values.values.data());
    const bool may_overflow = h5_.type_class(type_.id()) == hdf5::code::integer &&
                              h5_.sign(type_.id()) == 0 && h5_.type_size(type_.id()) == 8;
    if (may_overflow) refuse_overflow(values, count);
    return values;
  }

 private:
  std::optional<Hdf5Type> found_type() const {
    const std::size_t size = h5_.type_size(type_.id());
    const bool is_unsigned = h5_.sign(type_.id()) == 0;
    switch (h5_.type_class(type_.id())) {
      case hdf5::code::real:
        return size <= 4 ? Hdf5Type{ValueType::float32, h5_.native_float}
                         : Hdf5Type{ValueType::float64, h5_.native_double};
      case hdf5::code::integer:
        if (size + (is_unsigned ? 1 : 0) <= 2) return Hdf5Type{ValueType::int16, h5_.native_int16};
        if (size + (is_unsigned ? 1 : 0) <= 4) return Hdf5Type{ValueType::int32, h5_.native_int32};
        return Hdf5Type{ValueType::int64, h5_.native_int64};
      case hdf5::code::enumeration:  // h5py's booleans
        if (size != 1 || h5_.members(type_.id()) != 2) return std::nullopt;
        return Hdf5Type{ValueType::boolean, h5_.native_int8};
      case hdf5::code::text:
        if (sizes_.size() > 1) return std::nullopt;
        return Hdf5Type{ValueType::text, -1};
      default:
        return std::nullopt;
    }
  }

  Hdf5Type needed_type() const {
    const std::optional<Hdf5Type> type = found_type();
    if (type) return *type;
    refuse(
        "'{}': the dataset '{}' holds {}, which cannot be read; numbers, booleans and one column of text can",
        shown_, path_,
        h5_.type_class(type_.id()) == hdf5::code::compound ? "records of several fields"
                                                           : "values of another kind");
  }

  // A few bytes may promise more than any memory holds.
  std::size_t checked_count(ColumnValues& values, std::uintmax_t file_bytes) const {
    constexpr std::uint64_t always_taken = std::uint64_t{256} << 20;
    constexpr std::uint64_t most_times = 512;
    std::uint64_t count = 1;
    for (const hdf5::Size size : sizes_) {
      if (size == 0) refuse("'{}': the dataset '{}' is empty", shown_, path_);
      if (__builtin_mul_overflow(count, size, &count) ||
          count > std::numeric_limits<std::int64_t>::max() / 16)
        refuse("'{}': the dataset '{}' is too large", shown_, path_);
    }
    const std::uint64_t bytes = count * std::max<std::uint64_t>(1, h5_.type_size(type_.id()));
    if (bytes > always_taken && bytes / most_times > file_bytes)
      refuse("'{}': the dataset '{}' would take {}, more than {} times the file", shown_, path_,
             human_bytes(bytes), most_times);
    values.width = static_cast<std::int64_t>(count / sizes_.front());
    if (values.width > 1'000'000)
      refuse("'{}': the dataset '{}' has {} values to a row; at most 1,000,000 can be read", shown_, path_,
             human_count(static_cast<std::uint64_t>(values.width)));
    return static_cast<std::size_t>(count);
  }

  void read_into(hdf5::Id memory_type, void* place) const {
    if (h5_.read(dataset_.id(), memory_type, hdf5::code::usual, hdf5::code::usual, hdf5::code::usual, place) <
        0)
      refuse(
          "'{}': the dataset '{}' cannot be read; it is damaged, or packed in a way that libhdf5 lacks here",
          shown_, path_);
  }

  void refuse_overflow(const ColumnValues& values, std::size_t count) const {
    const auto* numbers = reinterpret_cast<const std::int64_t*>(values.values.data());
    const auto* const found = std::find(numbers, numbers + count, std::numeric_limits<std::int64_t>::max());
    if (found != numbers + count)
      refuse("'{}': the dataset '{}' holds numbers above 9223372036854775806, which cannot be read", shown_,
             path_);
  }

  void read_texts(ColumnValues& values) const {
    const auto count = static_cast<std::size_t>(sizes_.front());
    database::RowWriter writer({{path_, ValueType::text}});
    if (h5_.is_variable_text(type_.id()) > 0) {
      std::vector<char*> texts(count, nullptr);
      read_into(type_.id(), texts.data());
      for (const char* text : texts) {
        text == nullptr ? writer.put_missing(0) : writer.put_text(0, text);
        writer.end_row();
      }
      h5_.free_values(type_.id(), space_.id(), hdf5::code::usual, texts.data());
    } else {
      const std::size_t size = h5_.type_size(type_.id());
      std::vector<char> bytes(count * size);
      read_into(type_.id(), bytes.data());
      for (std::size_t row = 0; row < count; ++row) {
        const char* text = bytes.data() + row * size;
        writer.put_text(0, {text, ::strnlen(text, size)});
        writer.end_row();
      }
    }
    std::vector<database::Block> blocks = writer.finish();
    if (blocks.size() != 1) refuse("'{}': the dataset '{}' holds more than 1 GiB of text", shown_, path_);
    values = std::move(blocks.front().columns.front());
  }

  const hdf5::Library& h5_ = hdf5::library();
  std::string path_;
  std::string shown_;
  hdf5::Object dataset_;
  hdf5::Object space_;
  hdf5::Object type_;
  std::vector<hdf5::Size> sizes_;
};

// The last part of the path, unless two would have the same.
std::vector<std::string> column_names(const std::vector<std::string>& paths) {
  const auto last_part = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    const std::string last = last_part(path);
    const auto same = std::ranges::count_if(paths, [&](const auto& each) { return last_part(each) == last; });
    names.push_back(same == 1 ? last : path.substr(path.find_first_not_of('/')));
  }
  return names;
}

Rows read_hdf5(const fs::path& path, const std::string& shown, std::vector<std::string> paths,
               hdf5::OtherFiles others) {
  const std::string quoted = fmt::format("'{}'", shown);
  const hdf5::LimitedLock lock(path, quoted);
  const hdf5::Library& h5 = hdf5::library();
  const hdf5::Object file(h5.open_file(path.c_str(), hdf5::code::usual, hdf5::code::usual), h5.close_file);
  if (!file.is_open()) refuse("'{}' is not an HDF5 file, or is damaged", shown);
  if (paths.empty()) paths = hdf5::datasets_in(file, "/", others, quoted);
  if (paths.empty()) refuse("'{}' has no datasets in its root; name them with datasets", shown);
  Rows rows;
  rows.blocks.emplace_back();
  const std::vector<std::string> names = column_names(paths);
  std::string first;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Hdf5Dataset dataset(file, paths[i], shown, others);
    if (i == 0) rows.blocks[0].rows = dataset.rows();
    if (dataset.rows() != rows.blocks[0].rows)
      refuse("'{}': the dataset '{}' has {}, '{}' has {}; name those that belong together with datasets",
             shown, paths[i], counted(static_cast<std::uint64_t>(dataset.rows()), "row"), paths[0],
             counted(static_cast<std::uint64_t>(rows.blocks[0].rows), "row"));
    rows.forms.push_back(dataset.form(names[i]));
    rows.blocks[0].columns.push_back(dataset.values(fs::file_size(path)));
  }
  return rows;
}

class Hdf5Reader : public SourceReader {
 public:
  Hdf5Reader(const SourceConfig& config, fs::path file)
      : file_(std::move(file)),
        description_(config.path),
        datasets_(config.datasets),
        arrays_(config.arrays),
        others_(hdf5::other_files(config.follow_external)),
        opened_(stamp_of(file_)) {
    hdf5::library();
    if (would_show_writes(opened_)) return;
    hashed_.emplace(file_);
    opened_ = hashed_->stamp();
  }

  // Hashing costs more than reading does, so it waits for somebody who asks.
  std::string fingerprint() const override {
    const std::lock_guard lock(mutex_);
    if (!hashed_) {
      HashedFile now(file_);
      if (now.stamp() != opened_) refuse_written();
      hashed_.emplace(std::move(now));
    }
    return sha256_of_text("hdf5 " + hashed_->sha256());
  }
  const std::string& description() const override { return description_; }
  std::uintmax_t bytes() const override { return fs::file_size(file_); }
  Table read(const std::vector<std::string>&, const Notes&) const override {
    const auto rows = std::make_shared<const Rows>(read_hdf5(file_, description_, datasets_, others_));
    if (!is_same_file()) refuse_written();
    return checked_columns(table_of_rows(rows, arrays_, description_), description_);
  }

 private:
  bool is_same_file() const {
    const std::lock_guard lock(mutex_);
    if (!hashed_) return stamp_of(file_) == opened_;
    return hashed_->is_untouched() || HashedFile(file_).sha256() == hashed_->sha256();
  }
  [[noreturn]] void refuse_written() const {
    throw Error(
        ExitCode::wrong_request,
        fmt::format("'{}' was written to after it was opened; run again when it is complete", description_),
        Cause::machine);
  }

  fs::path file_;
  std::string description_;
  std::vector<std::string> datasets_;
  ArrayChoice arrays_;
  hdf5::OtherFiles others_;
  FileStamp opened_;
  mutable std::mutex mutex_;
  mutable std::optional<HashedFile> hashed_;  // once somebody has asked for it
};

OpenedSource open_hdf5(const SourceConfig& config, const fs::path& base, const StopSignal*) {
  const fs::path file = fs::absolute(base / config.path);
  std::error_code error;
  if (!fs::exists(file, error)) refuse("the file '{}' does not exist", config.path);
  if (!fs::is_regular_file(file, error)) refuse("'{}' is not a file", config.path);
  return std::make_unique<Hdf5Reader>(config, file);
}

void check_hdf5(const SourceConfig& config, SourceProblems& problems) {
  if (config.path.empty()) problems.push_back({"path", "missing; source hdf5 needs a file to read"});
  for (const std::string& each : config.datasets)
    if (each.find_first_not_of('/') == std::string::npos || each.ends_with('/'))
      problems.push_back(
          {"datasets", fmt::format("'{}' is not the path of a dataset, such as /train/x", each)});
}

}  // namespace

SourceOfKind hdf5_source() {
  return {SourceKind::hdf5,
          open_hdf5,
          check_hdf5,
          [](const SourceConfig& config) { return config.path; },
          {"datasets", "arrays", "follow_external"}};
}

}  // namespace stoker
