#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace stoker {

// Whole content of a file. Refuses a missing, unreadable or larger file by name.
std::string read_file(const std::filesystem::path& path, std::size_t limit_bytes);

// A file that exists under its name only once it is complete: written beside it under a temporary
// name, synced, then renamed. Dropped without commit(), it leaves nothing behind.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::string_view text);
  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

void write_file(const std::filesystem::path& path, std::string_view content);

// The same for a folder: fill folder(), then commit() syncs every file in it and renames the folder,
// replacing one of that name. Dropped without commit(), it leaves nothing behind.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::filesystem::path path);
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;
  ~AtomicFolder();

  const std::filesystem::path& folder() const { return temporary_; }
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
};

// Appends whole lines to a file that others may be reading; each call is one write(2).
class AppendedFile {
 public:
  explicit AppendedFile(const std::filesystem::path& path);
  AppendedFile(AppendedFile&& other) noexcept;
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;
  ~AppendedFile();

  void append_line(std::string_view line);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

// Makes the folder and its parents; refuses when that is not possible, with the reason.
void make_folder(const std::filesystem::path& path);

// A folder of its own that is removed with its content at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace stoker
