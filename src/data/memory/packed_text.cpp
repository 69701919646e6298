#include "data/memory/packed_text.h"

#include <algorithm>
#include <string_view>

#include <arrow/buffer.h>
#include <arrow/io/compressed.h>
#include <arrow/io/concurrency.h>
#include <arrow/io/file.h>
#include <arrow/util/compression.h>

#include "base/text/text.h"
#include "data/memory/arrow_result.h"
#include "data/memory/unpacked_limits.h"
#include "device/device.h"

namespace stoker {
namespace {

// A small packed file may unpack to more than any machine holds. What counts is not the text but what reading
// it takes: a cell is two characters of text, or one, and eight bytes of a column.
class BoundedInput : public arrow::io::InputStream {
 public:
  BoundedInput(std::shared_ptr<arrow::io::InputStream> inner, char delimiter, std::uint64_t packed_bytes)
      : inner_(std::move(inner)), delimiter_(delimiter), limit_(most_unpacked_bytes(packed_bytes)) {}
  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t read, inner_->Read(bytes, out));
    ARROW_RETURN_NOT_OK(count({static_cast<const char*>(out), static_cast<std::size_t>(read)}));
    return read;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, inner_->Read(bytes));
    ARROW_RETURN_NOT_OK(count(std::string_view(*buffer)));
    return buffer;
  }
  arrow::Status Close() override { return inner_->Close(); }
  arrow::Result<std::int64_t> Tell() const override { return inner_->Tell(); }
  bool closed() const override { return inner_->closed(); }

 private:
  arrow::Status count(std::string_view text) {
    const auto cells =
        std::count(text.begin(), text.end(), delimiter_) + std::count(text.begin(), text.end(), '\n');
    needed_ += text.size() + static_cast<std::uint64_t>(cells) * sizeof(double);
    if (needed_ <= limit_) return arrow::Status::OK();
    return arrow::Status::CapacityError(
        "unpacked, it takes more than ", human_bytes(limit_),
        " of memory to read; unpack it yourself if it is meant to be that large");
  }

  std::shared_ptr<arrow::io::InputStream> inner_;
  char delimiter_;
  std::uint64_t limit_;
  std::uint64_t needed_ = 0;
};

constexpr std::int64_t first_bytes_to_tell = 10;

// Told by the first bytes, not by the name: servers hand out packed files under plain names.
arrow::Compression::type compression_of(std::string_view first_bytes) {
  if (first_bytes.starts_with("\x1f\x8b")) return arrow::Compression::GZIP;
  if (first_bytes.starts_with("\x28\xb5\x2f\xfd")) return arrow::Compression::ZSTD;
  // A table may begin with these letters as well, but not with the size and the first block behind them.
  if (first_bytes.starts_with("BZh") && first_bytes.substr(4).starts_with("1AY&SY"))
    return arrow::Compression::BZ2;
  return arrow::Compression::UNCOMPRESSED;
}

}  // namespace

std::shared_ptr<arrow::io::InputStream> bounded(std::shared_ptr<arrow::io::InputStream> unpacked,
                                                char delimiter, std::uint64_t packed_bytes) {
  return std::make_shared<BoundedInput>(std::move(unpacked), delimiter, packed_bytes);
}

arrow::Result<std::shared_ptr<arrow::io::InputStream>> unpacked_by(
    const std::shared_ptr<arrow::util::Codec>& codec, const std::shared_ptr<arrow::io::InputStream>& packed) {
  ARROW_ASSIGN_OR_RAISE(const auto unpacked, arrow::io::CompressedInputStream::Make(codec.get(), packed));
  // The codec must outlive the stream that uses it.
  return std::shared_ptr<arrow::io::InputStream>(unpacked.get(),
                                                 [unpacked, codec](arrow::io::InputStream*) {});
}

std::uint64_t most_unpacked_bytes(std::uint64_t packed_bytes) {
  return std::min(most_bytes_of_rows(packed_bytes), memory_bytes() / 4 * 3);
}

arrow::Result<std::shared_ptr<arrow::io::InputStream>> open_unpacked(const std::filesystem::path& path) {
  ARROW_ASSIGN_OR_RAISE(const auto file, arrow::io::ReadableFile::Open(path.string()));
  ARROW_ASSIGN_OR_RAISE(const auto first_bytes, file->Read(first_bytes_to_tell));
  ARROW_RETURN_NOT_OK(file->Seek(0));
  const auto compression = compression_of(std::string_view(*first_bytes));
  if (compression == arrow::Compression::UNCOMPRESSED) return file;
  if (!arrow::util::Codec::IsAvailable(compression))
    return arrow::Status::NotImplemented("it is packed with ",
                                         arrow::util::Codec::GetCodecAsString(compression),
                                         ", which this build of Arrow cannot unpack; unpack it yourself");
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::util::Codec> codec, arrow::util::Codec::Create(compression));
  return unpacked_by(codec, file);
}

arrow::Result<std::shared_ptr<arrow::io::InputStream>> open_text(const std::filesystem::path& path,
                                                                 char delimiter) {
  ARROW_ASSIGN_OR_RAISE(const bool has_to_be_unpacked, is_packed(path));
  ARROW_ASSIGN_OR_RAISE(auto unpacked, open_unpacked(path));
  if (!has_to_be_unpacked) return unpacked;
  std::error_code error;
  const std::uintmax_t packed_bytes = std::filesystem::file_size(path, error);
  if (error) return arrow::Status::IOError(error.message());
  return bounded(std::move(unpacked), delimiter, packed_bytes);
}

std::string text_start(const std::filesystem::path& path, std::int64_t bytes) {
  const auto text = or_refuse(open_text(path), path.string());
  return or_refuse(text->Read(bytes), path.string())->ToString();
}

arrow::Result<bool> is_packed(const std::filesystem::path& path) {
  ARROW_ASSIGN_OR_RAISE(const auto file, arrow::io::ReadableFile::Open(path.string()));
  ARROW_ASSIGN_OR_RAISE(const auto first_bytes, file->Read(first_bytes_to_tell));
  return compression_of(std::string_view(*first_bytes)) != arrow::Compression::UNCOMPRESSED;
}

}  // namespace stoker
