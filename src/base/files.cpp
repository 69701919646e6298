#include "base/files.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) {
  return std::error_code(error, std::generic_category()).message();
}

// A request cannot be carried out because of where it wants to write: that is the request's fault.
[[noreturn]] void refuse_write(const fs::path& path, int error) {
  refuse("cannot write {}: {}", path.string(), reason(error));
}

fs::path temporary_name(const fs::path& path) {
  static int counter = 0;
  fs::path name = path;
  name += fmt::format(".partial-{}-{}", ::getpid(), __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED));
  return name;
}

void write_all(int descriptor, const char* data, std::size_t size, const fs::path& path) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) refuse_write(path, written == 0 ? ENOSPC : errno);
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

void sync_path(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) refuse_write(path, errno);
  const int status = ::fsync(descriptor);
  const int error = errno;
  ::close(descriptor);
  // Some file systems do not sync folders and say EINVAL; there is nothing more to do for them.
  if (status != 0 && error != EINVAL) refuse_write(path, error);
}

void rename_over(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) refuse_write(to, errno);
  sync_path(to.has_parent_path() ? to.parent_path() : fs::path("."));
}

}  // namespace

std::string read_file(const fs::path& path, std::size_t limit_bytes) {
  std::error_code status_error;
  if (fs::is_directory(path, status_error)) refuse("{} is a folder, not a file", path.string());
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) refuse("cannot read {}: {}", path.string(), reason(errno));
  std::string content;
  std::vector<char> block(std::size_t{1} << 16);
  ssize_t got = 0;
  while ((got = ::read(descriptor, block.data(), block.size())) > 0 || (got < 0 && errno == EINTR)) {
    if (got < 0) continue;
    content.append(block.data(), static_cast<std::size_t>(got));
    if (content.size() > limit_bytes) break;
  }
  const int error = errno;
  ::close(descriptor);
  if (got < 0) refuse("cannot read {}: {}", path.string(), reason(error));
  if (content.size() > limit_bytes)
    refuse("{} is larger than {} bytes, the most that is read here", path.string(), limit_bytes);
  return content;
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)), temporary_(temporary_name(path_)) {
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) refuse_write(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view text) {
  write_all(descriptor_, text.data(), text.size(), path_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  write_all(descriptor_, reinterpret_cast<const char*>(bytes.data()), bytes.size(), path_);
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) refuse_write(path_, errno);
  rename_over(temporary_, path_);
  ::close(descriptor_);
  descriptor_ = -1;
}

void write_file(const fs::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

AtomicFolder::AtomicFolder(fs::path path) : path_(std::move(path)), temporary_(temporary_name(path_)) {
  make_folder(temporary_);
}

AtomicFolder::~AtomicFolder() {
  if (temporary_.empty()) return;
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

void AtomicFolder::commit() {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(temporary_))
    sync_path(entry.path());
  sync_path(temporary_);
  // rename(2) replaces only an empty folder, so an old one steps aside first. Another process may put its own
  // there in between: then that one is the old one.
  constexpr int tries = 100;
  for (int attempt = 0; ::rename(temporary_.c_str(), path_.c_str()) != 0; ++attempt) {
    if ((errno != ENOTEMPTY && errno != EEXIST) || attempt == tries) refuse_write(path_, errno);
    const fs::path old = temporary_name(path_);
    if (::rename(path_.c_str(), old.c_str()) == 0) fs::remove_all(old);
  }
  sync_path(path_.has_parent_path() ? path_.parent_path() : fs::path("."));
  temporary_.clear();
}

AppendedFile::AppendedFile(const fs::path& path) : path_(path) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0) refuse_write(path, errno);
}

AppendedFile::AppendedFile(AppendedFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

AppendedFile::~AppendedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AppendedFile::append_line(std::string_view line) {
  std::string whole(line);
  whole += '\n';
  write_all(descriptor_, whole.data(), whole.size(), path_);
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) refuse("cannot make the folder {}: {}", path.string(), error.message());
  if (!fs::is_directory(path))
    refuse("cannot make the folder {}: a file of that name is there", path.string());
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "stoker-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    refuse("cannot make a temporary folder like {}: {}", pattern, reason(errno));
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace stoker
