#include "data/memory/mapped_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file_errors.h"

namespace stoker {
namespace {

// Pages of a file from one place on; what is asked for begins within the first.
class MappedPiece : public arrow::Buffer {
 public:
  MappedPiece(void* pages, std::size_t mapped, std::size_t skipped, std::int64_t bytes)
      : arrow::Buffer(static_cast<const std::uint8_t*>(pages) + skipped, bytes),
        pages_(pages),
        mapped_(mapped) {}
  MappedPiece(const MappedPiece&) = delete;
  MappedPiece& operator=(const MappedPiece&) = delete;
  ~MappedPiece() override { ::munmap(pages_, mapped_); }

 private:
  void* pages_;
  std::size_t mapped_;
};

arrow::Status status_of(const char* what) {
  return arrow::Status::IOError(what, ": ", std::strerror(errno));
}

class MappedFile : public arrow::io::RandomAccessFile {
 public:
  explicit MappedFile(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) refuse_read(path, errno);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  arrow::Result<std::int64_t> GetSize() override {
    struct stat told {};
    if (::fstat(descriptor_, &told) != 0) return status_of("its size is not known");
    return static_cast<std::int64_t>(told.st_size);
  }

  // Never beyond the end: pages behind it cannot be read.
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t position, std::int64_t bytes) override {
    constexpr std::int64_t copied_below = 1 << 14;  // a mapping costs more than that
    if (bytes < copied_below) return copied(position, bytes);
    ARROW_ASSIGN_OR_RAISE(const std::int64_t size, GetSize());
    bytes = std::clamp<std::int64_t>(size - position, 0, bytes);
    if (position < 0 || bytes == 0) return std::make_shared<arrow::Buffer>(nullptr, 0);
    const std::int64_t page = ::sysconf(_SC_PAGESIZE);
    const std::int64_t first = position / page * page;
    const auto mapped = static_cast<std::size_t>(position - first + bytes);
    void* pages = ::mmap(nullptr, mapped, PROT_READ, MAP_PRIVATE | MAP_POPULATE, descriptor_, first);
    if (pages == MAP_FAILED) return status_of("it cannot be mapped");
    return std::make_shared<MappedPiece>(pages, mapped, static_cast<std::size_t>(position - first), bytes);
  }
  arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t bytes, void* to) override {
    std::int64_t done = 0;
    while (done < bytes) {
      const ssize_t got = ::pread(descriptor_, static_cast<char*>(to) + done,
                                  static_cast<std::size_t>(bytes - done), position + done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return status_of("it cannot be read");
      if (got == 0) break;
      done += got;
    }
    return done;
  }

  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(auto piece, ReadAt(place_, bytes));
    place_ += piece->size();
    return piece;
  }
  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* to) override {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t got, ReadAt(place_, bytes, to));
    place_ += got;
    return got;
  }
  arrow::Status Seek(std::int64_t position) override {
    place_ = position;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Tell() const override { return place_; }
  arrow::Status Close() override {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
    return arrow::Status::OK();
  }
  bool closed() const override { return descriptor_ < 0; }

 private:
  arrow::Result<std::shared_ptr<arrow::Buffer>> copied(std::int64_t position, std::int64_t bytes) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> copy,
                          arrow::AllocateResizableBuffer(bytes));
    ARROW_ASSIGN_OR_RAISE(const std::int64_t got, ReadAt(position, bytes, copy->mutable_data()));
    ARROW_RETURN_NOT_OK(copy->Resize(got));
    return copy;
  }

  int descriptor_;
  std::int64_t place_ = 0;
};

}  // namespace

std::shared_ptr<arrow::io::RandomAccessFile> mapped_file(const std::filesystem::path& path) {
  return std::make_shared<MappedFile>(path);
}

std::shared_ptr<std::byte> mapped_bytes(const std::filesystem::path& path, std::int64_t begin,
                                        std::int64_t bytes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) refuse_read(path, errno);
  const std::shared_ptr<const int> closes(&descriptor, [](const int* each) { ::close(*each); });
  struct stat told {};
  if (::fstat(descriptor, &told) != 0) refuse_read(path, errno);
  if (begin < 0 || bytes < 1 || told.st_size - bytes < begin)
    refuse("{} is cut off: {} bytes are needed from byte {} on, and it has {}", path.string(), bytes, begin,
           static_cast<std::int64_t>(told.st_size));
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::int64_t skipped = begin % page;
  const auto mapped = static_cast<std::size_t>(skipped + bytes);
  void* pages = ::mmap(nullptr, mapped, PROT_READ, MAP_PRIVATE, descriptor, begin - skipped);
  if (pages == MAP_FAILED) refuse_read(path, errno);
  return {static_cast<std::byte*>(pages) + skipped, [pages, mapped](std::byte*) { ::munmap(pages, mapped); }};
}

}  // namespace stoker
