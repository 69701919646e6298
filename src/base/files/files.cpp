#include "base/files/files.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/replace_folder.h"
#include "base/files/without_sync.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr const char* half_made = ".partial-";

fs::path half_made_name(fs::path path) {
  return path += half_made;
}

fs::path with_parents(fs::path path) {
  if (path.has_parent_path()) make_folder(path.parent_path());
  return path;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
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
  if (WithoutSync::is_on()) return;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) refuse_write(path, errno);
  const int status = ::fsync(descriptor);
  const int error = errno;
  ::close(descriptor);
  // Some file systems do not sync folders and say EINVAL; there is nothing more to do for them.
  if (status != 0 && error != EINVAL) refuse_write(path, error);
}

// A small file is read at one go; what has no size, a pipe say, in larger pieces.
std::size_t block_for(int descriptor) {
  constexpr std::size_t largest = std::size_t{1} << 18;
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) return largest;
  return std::min(largest, static_cast<std::size_t>(status.st_size) + 1);
}

// The system's own folder for such, or a refusal that says which setting names another.
fs::path folder_for_temporaries() {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  const char* const set = std::getenv("TMPDIR");
  if (error) {
    refuse_of_machine(
        fmt::format("{} cannot be used for temporary files ({}); set TMPDIR to a writable folder",
                    set == nullptr ? "/tmp" : set, error.message()),
        error.value());
  }
  return folder;
}

fs::path cleared_beginning_for_temporaries() {
  const fs::path folder = folder_for_temporaries();
  constexpr const char* beginning = "stoker-";
  clear_abandoned(folder, beginning);
  return folder / beginning;
}

}  // namespace

void read_blocks(const fs::path& path, const std::function<bool(std::string_view)>& add) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) refuse_read(path, errno);
  const std::shared_ptr<void> closing(nullptr, [=](void*) { ::close(descriptor); });
  std::vector<char> block(block_for(descriptor));
  while (true) {
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got < 0 && errno != EINTR) refuse_read(path, errno);
    if (got == 0 || (got > 0 && !add({block.data(), static_cast<std::size_t>(got)}))) return;
  }
}

std::string read_file(const fs::path& path, std::size_t limit_bytes) {
  std::string content;
  read_blocks(path, [&](std::string_view block) {
    content += block;
    return content.size() <= limit_bytes;
  });
  if (content.size() > limit_bytes)
    refuse("{} is larger than {} bytes, the maximum", path.string(), limit_bytes);
  return content;
}

AtomicFile::AtomicFile(fs::path path)
    : path_(std::move(path)), claim_(Claim::Kind::file, half_made_name(path_), 0644, path_) {}

void AtomicFile::write(std::string_view text) {
  write_all(claim_.descriptor(), text.data(), text.size(), path_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  write_all(claim_.descriptor(), reinterpret_cast<const char*>(bytes.data()), bytes.size(), path_);
}

void AtomicFile::commit() {
  if (!WithoutSync::is_on() && ::fsync(claim_.descriptor()) != 0) refuse_write(path_, errno);
  {
    const auto held = Claim::hold_off_clearing();
    if (::rename(claim_.path().c_str(), path_.c_str()) != 0) refuse_write(path_, errno);
    claim_.release();
  }
  sync_path(folder_of(path_));
}

void write_file(const fs::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

bool write_new_file(const fs::path& path, std::string_view content) {
  const Claim claim(Claim::Kind::file, half_made_name(path), 0644, path);
  write_all(claim.descriptor(), content.data(), content.size(), path);
  sync_path(claim.path());
  // A second name, which unlike rename(2) never takes the place of another file; the first one goes.
  if (::link(claim.path().c_str(), path.c_str()) != 0) {
    if (errno == EEXIST) return false;
    refuse_write(path, errno);
  }
  sync_path(folder_of(path));
  return true;
}

AtomicFolder::AtomicFolder(fs::path path)
    : path_(with_parents(std::move(path))), claim_(Claim::Kind::folder, half_made_name(path_), 0777, path_) {}

void AtomicFolder::sync() const {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(claim_.path()))
    sync_path(entry.path());
  sync_path(claim_.path());
}

void AtomicFolder::commit() {
  sync();
  {
    const auto held = Claim::hold_off_clearing();
    replace_folder(claim_.path(), path_);
  }
  std::error_code ignored;  // the old one, which others clear if it stays
  fs::remove_all(claim_.path(), ignored);
  claim_.release();
  sync_path(folder_of(path_));
}

bool AtomicFolder::commit_if_free(const fs::path& path) {
  sync();
  {
    const auto held = Claim::hold_off_clearing();
    if (!rename_if_free(claim_.path(), path)) return false;
    claim_.release();
  }
  sync_path(folder_of(path));
  return true;
}

void remove_folder(const fs::path& path, std::error_code& error) {
  try {
    const fs::path name = folder_of(path) / ".removed";
    const Claim aside(Claim::Kind::folder, half_made_name(name), 0777, path);
    fs::rename(path, aside.path(), error);  // rename(2) replaces an empty folder
    if (!error) fs::remove_all(aside.path(), error);
  } catch (const Error&) {  // a full disk has no room for another name
    fs::remove_all(path, error);
  }
}

void clear_half_made(const fs::path& folder) {
  put_back_replaced(folder);
  clear_abandoned(folder, half_made);
}

void clear_half_made_file(const fs::path& path) {
  clear_abandoned(folder_of(path), half_made_name(path.filename()).string());
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
  if (error)
    refuse_of_machine(fmt::format("cannot create the folder {}: {}", path.string(), error.message()),
                      error.value());
  if (fs::is_directory(path)) return;
  if (fs::exists(path)) refuse("cannot create the folder {}: a file of that name exists", path.string());
  refuse_of_machine(fmt::format("cannot create the folder {}: it was removed immediately", path.string()),
                    ENOENT);
}

std::uint64_t folder_bytes(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code ended;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator each(folder, options, ended), end; !ended && each != end;
       each.increment(ended)) {
    std::error_code gone;
    if (each->is_symlink(gone) || !each->is_regular_file(gone)) continue;
    const std::uintmax_t size = each->file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

TemporaryFolder::TemporaryFolder()
    : claim_(Claim::Kind::folder, cleared_beginning_for_temporaries(), 0700, folder_for_temporaries()) {}

}  // namespace stoker
