#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/files/claim.h"
#include "base/files/file_errors.h"

namespace stoker {

// Whole content of a file. Refuses a missing, unreadable or larger file by name.
std::string read_file(const std::filesystem::path& path, std::size_t limit_bytes);
// Block by block, until there is no more or `add` says that it has enough.
void read_blocks(const std::filesystem::path& path, const std::function<bool(std::string_view)>& add);

// A file that exists under its name only once it is complete: written beside it under a temporary
// name, synced, then renamed. Dropped without commit(), it leaves nothing behind.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);

  void write(std::string_view text);
  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  std::filesystem::path path_;
  Claim claim_;
};

void write_file(const std::filesystem::path& path, std::string_view content);

// The same for a folder: fill folder(), then commit() syncs every file in it and renames the folder. One of
// that name is replaced, so that whoever looks sees the old one or the new one. Dropped without commit(), it
// leaves nothing behind.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::filesystem::path path);

  const std::filesystem::path& folder() const { return claim_.path(); }
  void commit();
  // Replaces nothing: false if `path`, in the same folder, is there already. Then another may be tried.
  bool commit_if_free(const std::filesystem::path& path);

 private:
  void sync() const;

  std::filesystem::path path_;
  Claim claim_;
};

// Out of sight first, so that one who is killed in between leaves no half of it under its name.
void remove_folder(const std::filesystem::path& path, std::error_code& error);

// Removes what killed processes left half made or half removed in a folder, and puts back what they were
// about to replace.
void clear_half_made(const std::filesystem::path& folder);
// The same for one file alone.
void clear_half_made_file(const std::filesystem::path& path);

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

// Of the regular files in it and in folders in it; what cannot be looked at counts nothing.
std::uint64_t folder_bytes(const std::filesystem::path& folder);

// A folder of its own where the system keeps such (TMPDIR), removed with its content at the end of the scope.
// Clears those of processes that are gone.
class TemporaryFolder {
 public:
  TemporaryFolder();
  const std::filesystem::path& path() const { return claim_.path(); }

 private:
  Claim claim_;
};

}  // namespace stoker
