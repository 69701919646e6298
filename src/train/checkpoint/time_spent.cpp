#include "train/checkpoint/time_spent.h"

#include <charconv>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/without_sync.h"

namespace stoker {
namespace {

constexpr std::size_t longest_number = 64;

// Nothing where there is no such file, or one that somebody else wrote: the time then begins anew.
double seconds_in(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) ||
      std::filesystem::file_size(file, error) > longest_number)
    return 0;
  const std::string text = read_file(file, longest_number);
  double seconds = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_time = problem == std::errc() && std::isfinite(seconds) && seconds > 0;
  return is_time ? seconds : 0;
}

}  // namespace

TimeSpent::TimeSpent(const std::filesystem::path& checkpoints, bool goes_on) {
  if (checkpoints.empty()) return;
  file_ = checkpoints / "seconds";
  if (goes_on) {
    earlier_ = seconds_in(file_);
  } else {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }
}

void TimeSpent::keep() {
  if (file_.empty()) return;
  const std::lock_guard lock(mutex_);
  std::filesystem::create_directories(file_.parent_path());
  const WithoutSync not_worth_a_wait;  // what is no time in it counts as none
  write_file(file_, fmt::format("{}\n", seconds()));
}

void TimeSpent::keep_if_possible() noexcept {
  try {
    keep();
  } catch (const std::exception&) {
    // Without it, the next sitting takes longer than it should.
  }
}

}  // namespace stoker
