#include "store/service_lock.h"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file_lock.h"
#include "database/writable.h"

namespace stoker {
namespace {

class FileServiceLock : public ServiceLock {
 public:
  explicit FileServiceLock(int descriptor) : descriptor_(descriptor) {}
  FileServiceLock(const FileServiceLock&) = delete;
  FileServiceLock& operator=(const FileServiceLock&) = delete;
  ~FileServiceLock() override { ::close(descriptor_); }
  void when_lost(std::function<void()> /*lost*/) override {}  // the kernel keeps it

 private:
  int descriptor_;
};

std::unique_ptr<ServiceLock> take_file(const std::filesystem::path& file) {
  constexpr mode_t only_owner = 0600;
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, only_owner);
  if (descriptor < 0) refuse("{} cannot be opened: {}", file.string(), std::strerror(errno));
  auto lock = std::make_unique<FileServiceLock>(descriptor);
  const int error = lock_file(descriptor, LOCK_EX | LOCK_NB);
  if (error == EWOULDBLOCK) return nullptr;
  if (error != 0)
    refuse("{} cannot be locked: {}; put the store on a file system with locks", file.string(),
           std::strerror(error));
  return lock;
}

// The lock belongs to the connection. A lost connection is made again, and the lock is taken again with it.
class PostgresServiceLock : public ServiceLock {
 public:
  explicit PostgresServiceLock(std::unique_ptr<database::WritableDatabase> connection)
      : connection_(std::move(connection)) {}
  PostgresServiceLock(const PostgresServiceLock&) = delete;
  PostgresServiceLock& operator=(const PostgresServiceLock&) = delete;
  ~PostgresServiceLock() override {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    woken_.notify_all();
    if (watching_.joinable()) watching_.join();
  }

  // By the number of the table, so that stores in several schemas of a database have locks of their own.
  bool take() {
    const auto rows = connection_->run(
        "SELECT pg_catalog.pg_try_advisory_lock(7165428, 'stoker_service'::regclass::oid::int)");
    return rows.at(0).at(0) == "t";
  }

  void when_lost(std::function<void()> lost) override {
    watching_ = std::thread([this, lost = std::move(lost)] { watch(lost); });
  }

 private:
  void watch(const std::function<void()>& lost) {
    constexpr auto between = std::chrono::seconds(5);
    std::unique_lock lock(mutex_);
    while (!woken_.wait_for(lock, between, [this] { return is_over_; })) {
      try {
        if (!take()) return lost();
      } catch (const Error&) {
        // The server is away. Nobody else can take the lock either.
      }
    }
  }

  std::unique_ptr<database::WritableDatabase> connection_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool is_over_ = false;
  std::thread watching_;
};

}  // namespace

std::unique_ptr<ServiceLock> ServiceLock::take(Records& records) {
  const auto held = records.hold();
  if (!records.to_write().is_postgres()) return take_file(records.file_beside(".service-lock"));
  auto lock = std::make_unique<PostgresServiceLock>(records.another_connection());
  if (!lock->take()) return nullptr;
  return lock;
}

}  // namespace stoker
