#include "data/source/standard_input.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include "base/error.h"

namespace stoker {
namespace {

void heed_interruption(const StopSignal* stop) {
  const StopReason reason = stop == nullptr ? StopReason::none : stop->reason();
  if (reason == StopReason::interrupted)
    throw Error(ExitCode::interrupted, "interrupted while standard input was read");
  if (reason == StopReason::time_limit) fail("standard input did not end in the time allowed");
}

void copy_standard_input(UnnamedFile& file, const StopSignal* stop) {
  constexpr int milliseconds_between_looks = 100;
  std::vector<char> piece(std::size_t{1} << 20);
  while (true) {
    heed_interruption(stop);
    pollfd waiting{STDIN_FILENO, POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds_between_looks) == 0) continue;
    const ssize_t count = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (count == 0) return;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse("standard input cannot be read: {}", std::strerror(errno));
    file.append({piece.data(), static_cast<std::size_t>(count)});
  }
}

}  // namespace

std::shared_ptr<const UnnamedFile> read_standard_input(const StopSignal* stop) {
  static std::mutex mutex;
  static std::shared_ptr<const UnnamedFile> kept;
  const std::lock_guard lock(mutex);
  if (kept) return kept;
  const auto file = std::make_shared<UnnamedFile>();
  copy_standard_input(*file, stop);
  kept = file;
  return kept;
}

}  // namespace stoker
