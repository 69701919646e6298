#include "store/record/tensorboard_file.h"

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files/file_errors.h"
#include "base/files/files.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// Numbers of the fields of tensorflow/core/util/event.proto and framework/summary.proto.
namespace event_field {
constexpr unsigned wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7;
}
namespace summary_field {
constexpr unsigned value = 1, tag = 1, simple_value = 2;
}
constexpr const char* version_of_events = "brain.Event:2";

template <class Number>
std::string little_endian(Number number) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80U; number >>= 7) bytes += static_cast<char>((number & 0x7fU) | 0x80U);
  return bytes + static_cast<char>(number);
}

// How a field of a protocol buffer is written.
enum class Wire : unsigned { varint = 0, eight_bytes = 1, length_and_bytes = 2, four_bytes = 5 };
std::string key(unsigned field, Wire wire) {
  return varint(field << 3 | static_cast<unsigned>(wire));
}
std::string text_field(unsigned field, std::string_view bytes) {
  return key(field, Wire::length_and_bytes) + varint(bytes.size()) + std::string(bytes);
}

std::string event(double time, std::int64_t step, const std::string& what) {
  return key(event_field::wall_time, Wire::eight_bytes) + little_endian(time) +
         key(event_field::step, Wire::varint) + varint(static_cast<std::uint64_t>(step)) + what;
}

std::uint32_t masked(std::uint32_t checksum) {
  return std::rotr(checksum, 15) + 0xa282ead8U;
}

std::string record(const std::string& bytes) {
  const std::string length = little_endian(static_cast<std::uint64_t>(bytes.size()));
  return length + little_endian(masked(crc32c(length))) + bytes + little_endian(masked(crc32c(bytes)));
}

// What was said before of `first` and of later epochs is void.
std::string session_start(double time, std::int64_t first) {
  constexpr std::uint64_t start = 1;
  constexpr unsigned status = 1;
  return record(
      event(time, first, text_field(event_field::session_log, key(status, Wire::varint) + varint(start))));
}

std::string opening(double time, std::int64_t first) {
  return record(event(time, 0, text_field(event_field::file_version, version_of_events))) +
         session_start(time, first);
}

std::string scalar(std::string_view tag, double value) {
  return text_field(summary_field::value, text_field(summary_field::tag, tag) +
                                              key(summary_field::simple_value, Wire::four_bytes) +
                                              little_endian(static_cast<float>(value)));
}

std::string epoch_record(const EpochReport& epoch, double time) {
  const EpochRecord& record_of = epoch.record;
  std::string values = scalar("loss/train", record_of.train_loss);
  if (record_of.validation_loss) values += scalar("loss/validation", *record_of.validation_loss);
  for (const NamedValue& each : record_of.values) values += scalar("metrics/" + each.name, each.value);
  values += scalar("learning_rate", epoch.learning_rate);
  if (record_of.gradient_norm) values += scalar("gradient_norm", *record_of.gradient_norm);
  values += scalar("rows_per_second", epoch.rows_per_second);
  if (epoch.memory_bytes > 0) values += scalar("memory_bytes", static_cast<double>(epoch.memory_bytes));
  return record(event(time, epoch_number(epoch), text_field(event_field::summary, values)));
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// TensorBoard reads the files of a folder in the order of their names.
fs::path free_name_in(const fs::path& folder) {
  const std::string name =
      fmt::format("events.out.tfevents.{:010}.stoker", static_cast<std::int64_t>(seconds_since_1970()));
  fs::path path = folder / name;
  for (int number = 1; fs::exists(path); ++number) path = folder / fmt::format("{}.{}", name, number);
  return path;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) files.push_back(entry.path());
  return files;
}

}  // namespace

// The polynomial of Castagnoli, reflected.
std::uint32_t crc32c(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < made.size(); ++i) {
      made[i] = i;
      for (int bit = 0; bit < 8; ++bit) made[i] = made[i] >> 1 ^ ((made[i] & 1U) != 0 ? 0x82f63b78U : 0U);
    }
    return made;
  }();
  std::uint32_t checksum = 0xffffffffU;
  for (const char each : bytes)
    checksum = checksum >> 8 ^ table[(checksum ^ static_cast<unsigned char>(each)) & 0xffU];
  return ~checksum;
}

void TensorBoardFile::begin(std::int64_t first_epoch) {
  make_folder(folder_);
  path_ = free_name_in(folder_);
  file_.open(path_, std::ios::binary);
  if (!file_) refuse_write(path_, errno);
  first_ = first_epoch;
  write(opening(seconds_since_1970(), first_epoch));
}

// Whole records at once, since others may be reading.
void TensorBoardFile::write(const std::string& bytes) {
  file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file_.flush();
  if (!file_) refuse_write(path_, errno);
}

void TensorBoardFile::add(const EpochReport& epoch) {
  const std::int64_t number = epoch_number(epoch);
  if (first_ == 0) begin(number);
  // A training that went back tells its epochs again: readers forget what stood after this record.
  if (number <= last_) {
    write(session_start(seconds_since_1970(), number));
    tells_again_ = true;
  }
  last_ = number;
  write(epoch_record(epoch, seconds_since_1970()));
}

void TensorBoardFile::replace(const std::vector<EpochReport>& epochs) {
  if (epochs.empty()) return;
  const std::vector<fs::path> earlier = files_in(folder_);
  const bool is_whole =
      earlier.size() == 1 && first_ == 1 && last_ == epoch_number(epochs.back()) && !tells_again_;
  if (is_whole) return;
  file_.close();
  double time = seconds_since_1970();
  for (const EpochReport& epoch : epochs) time -= epoch.seconds;
  std::string whole = opening(time, epoch_number(epochs.front()));
  for (const EpochReport& epoch : epochs) whole += epoch_record(epoch, time += epoch.seconds);
  make_folder(folder_);
  const fs::path path = free_name_in(folder_);
  write_file(path, whole);
  std::error_code ignored;  // one that stays says the same about its epochs
  for (const fs::path& each : earlier) fs::remove(each, ignored);
}

}  // namespace stoker
