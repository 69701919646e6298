#include "data/format/zip.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/util/compression.h>
#include <arrow/util/crc32.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "data/memory/arrow_result.h"
#include "data/memory/packed_text.h"
#include "data/table/column_values.h"

// The parts of the format (APPNOTE.TXT of PKWARE) that archives of one table need: the directory at the end,
// and files that are stored or deflated.
namespace stoker {
namespace {

using ZipFile = std::shared_ptr<arrow::io::ReadableFile>;

constexpr std::string_view end_mark("PK\x05\x06", 4);
constexpr std::string_view entry_mark("PK\x01\x02", 4);
constexpr std::string_view file_mark("PK\x03\x04", 4);
constexpr std::size_t end_bytes = 22;
constexpr std::size_t entry_bytes = 46;
constexpr std::size_t file_header_bytes = 30;
constexpr std::int64_t longest_comment = 65'535;
constexpr std::int64_t longest_directory = 64 << 20;
constexpr std::uint32_t beyond_32_bits = 0xffffffff;

struct ZipEntry {
  std::string name;
  unsigned flags = 0;
  unsigned method = 0;
  std::uint32_t crc = 0;
  std::uint32_t packed_bytes = 0;
  std::uint32_t bytes = 0;
  std::uint32_t begin = 0;  // of its header
  bool is_link = false;
};

// Little-endian, as all numbers of the format.
template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
  Number number = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;)
    number = static_cast<Number>(number << 8U | static_cast<unsigned char>(bytes[at + i]));
  return number;
}

class ZipReader {
 public:
  ZipReader(const std::filesystem::path& path, std::string shown) : shown_(std::move(shown)) {
    file_ = or_refuse(arrow::io::ReadableFile::Open(path.string()), shown_);
    size_ = or_refuse(file_->GetSize(), shown_);
  }

  std::vector<ZipEntry> entries() const {
    const std::int64_t from =
        std::max<std::int64_t>(0, size_ - longest_comment - static_cast<std::int64_t>(end_bytes));
    const std::string tail = bytes_at(from, size_ - from);
    const std::size_t end = tail.rfind(end_mark);
    if (end == std::string::npos || tail.size() - end < end_bytes) damaged("its directory is missing");
    const auto length = number_at<std::uint32_t>(tail, end + 12);
    const auto begin = number_at<std::uint32_t>(tail, end + 16);
    if (begin == beyond_32_bits || length == beyond_32_bits)
      refuse("{} is a zip archive of more than 4 GiB; unpack it yourself", shown_);
    if (length > longest_directory || std::int64_t{begin} + length > size_)
      damaged("its directory is cut off");
    const std::string directory = bytes_at(begin, length);
    std::vector<ZipEntry> all;
    for (std::size_t at = 0; at + entry_bytes <= directory.size();) all.push_back(entry_at(directory, at));
    return all;
  }

  void refuse_unknown(const ZipEntry& entry) const {
    if ((entry.flags & 1U) != 0) refuse("{}: '{}' is encrypted; unpack it yourself", shown_, entry.name);
    if (entry.method != 0 && entry.method != 8)
      refuse(
          "{}: '{}' is packed by method {}, which is not known; pack it with deflate or unpack it yourself",
          shown_, entry.name, entry.method);
  }

  std::shared_ptr<const UnnamedFile> unpack(const ZipEntry& entry) const {
    refuse_unknown(entry);
    return unpacked(entry, bounded(open(entry), ',', entry.packed_bytes));
  }

  // Of one whose directory says how much is to come, and more is not taken.
  ZippedFile looked_at(const ZipEntry& entry, std::size_t start_bytes) const {
    refuse_unknown(entry);
    ZippedFile file;
    file.name = entry.name;
    file.bytes = entry.bytes;
    file.is_link = entry.is_link;
    file.write_to = [reader = *this, entry](const std::filesystem::path& path) { reader.write(entry, path); };
    const auto begins = or_refuse(open(entry)->Read(static_cast<std::int64_t>(start_bytes)), shown_);
    file.start = begins->ToString();
    if (entry.method == 0) {
      if (entry.packed_bytes != entry.bytes) damaged(fmt::format("'{}' has two sizes", entry.name));
      file.begin = begin_of(entry);
    } else {
      file.unpack = [reader = *this, entry] { return reader.unpacked(entry, reader.open(entry)); };
    }
    return file;
  }

 private:
  std::shared_ptr<const UnnamedFile> unpacked(const ZipEntry& entry,
                                              const std::shared_ptr<arrow::io::InputStream>& stream) const {
    auto file = std::make_shared<UnnamedFile>();
    each_piece(entry, stream, [&](std::span<const char> piece) { file->append(piece); });
    return file;
  }

  void write(const ZipEntry& entry, const std::filesystem::path& path) const {
    AtomicFile file(path);
    each_piece(entry, open(entry), [&](std::span<const char> piece) {
      file.write(std::string_view(piece.data(), piece.size()));
    });
    file.commit();
  }

  // Refuses a file that is not what the directory says; until then its pieces have been handed out.
  void each_piece(const ZipEntry& entry, const std::shared_ptr<arrow::io::InputStream>& stream,
                  const std::function<void(std::span<const char>)>& take) const {
    std::uint64_t bytes = 0;
    std::uint32_t crc = 0;
    while (true) {
      const auto piece = or_refuse(stream->Read(1 << 20), shown_);
      if (piece->size() == 0) break;
      bytes += static_cast<std::uint64_t>(piece->size());
      if (bytes > entry.bytes) break;
      crc = arrow::internal::crc32(crc, piece->data(), static_cast<std::size_t>(piece->size()));
      take({reinterpret_cast<const char*>(piece->data()), static_cast<std::size_t>(piece->size())});
    }
    if (bytes != entry.bytes || crc != entry.crc)
      damaged(fmt::format("'{}' is not what was packed", entry.name));
  }

  [[noreturn]] void damaged(const std::string& what) const {
    refuse("{} is a damaged zip archive: {}", shown_, what);
  }

  std::string bytes_at(std::int64_t begin, std::int64_t count) const {
    const auto buffer = or_refuse(file_->ReadAt(begin, count), shown_);
    if (buffer->size() != count) damaged("it is cut off");
    return buffer->ToString();
  }

  ZipEntry entry_at(std::string_view directory, std::size_t& at) const {
    if (directory.substr(at, entry_mark.size()) != entry_mark) damaged("its directory is not one");
    ZipEntry entry;
    entry.flags = number_at<std::uint16_t>(directory, at + 8);
    entry.method = number_at<std::uint16_t>(directory, at + 10);
    entry.crc = number_at<std::uint32_t>(directory, at + 16);
    entry.packed_bytes = number_at<std::uint32_t>(directory, at + 20);
    entry.bytes = number_at<std::uint32_t>(directory, at + 24);
    entry.begin = number_at<std::uint32_t>(directory, at + 42);
    constexpr unsigned unix_system = 3;
    constexpr std::uint32_t kind_of_file = 0170000;
    constexpr std::uint32_t link = 0120000;
    const unsigned system = number_at<std::uint16_t>(directory, at + 4) >> 8U;
    const std::uint32_t mode = number_at<std::uint32_t>(directory, at + 38) >> 16U;
    entry.is_link = system == unix_system && (mode & kind_of_file) == link;
    const std::size_t name = number_at<std::uint16_t>(directory, at + 28);
    const std::size_t more = std::size_t{number_at<std::uint16_t>(directory, at + 30)} +
                             number_at<std::uint16_t>(directory, at + 32);
    if (at + entry_bytes + name + more > directory.size()) damaged("its directory is cut off");
    entry.name = directory.substr(at + entry_bytes, name);
    at += entry_bytes + name + more;
    return entry;
  }

  std::int64_t begin_of(const ZipEntry& entry) const {
    const std::string header = bytes_at(entry.begin, file_header_bytes);
    if (!header.starts_with(file_mark))
      damaged(fmt::format("'{}' is not where its directory says", entry.name));
    const std::int64_t begin = std::int64_t{entry.begin} + static_cast<std::int64_t>(file_header_bytes) +
                               number_at<std::uint16_t>(header, 26) + number_at<std::uint16_t>(header, 28);
    if (begin + entry.packed_bytes > size_) damaged(fmt::format("'{}' is cut off", entry.name));
    return begin;
  }

  std::shared_ptr<arrow::io::InputStream> open(const ZipEntry& entry) const {
    const std::int64_t begin = begin_of(entry);
    const auto packed =
        or_refuse(arrow::io::RandomAccessFile::GetStream(file_, begin, entry.packed_bytes), shown_);
    if (entry.method == 0) return packed;
    arrow::util::GZipCodecOptions raw;
    raw.gzip_format = arrow::util::GZipFormat::DEFLATE;
    const std::shared_ptr<arrow::util::Codec> codec =
        or_refuse(arrow::util::Codec::Create(arrow::Compression::GZIP, raw), shown_);
    return or_refuse(unpacked_by(codec, packed), shown_);
  }

  std::string shown_;
  ZipFile file_;
  std::int64_t size_ = 0;
};

bool counts_as_file(const ZipEntry& entry) {
  if (entry.name.empty() || entry.name.ends_with('/') || entry.name.starts_with("__MACOSX/")) return false;
  return !std::filesystem::path(entry.name).filename().string().starts_with('.');
}

}  // namespace

bool is_zip(const std::filesystem::path& path) {
  std::array<char, 4> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  const std::string_view bytes(start.data(), start.size());
  return bytes == file_mark || bytes == end_mark;
}

std::vector<ZippedFile> zipped_files(const std::filesystem::path& path, const std::string& shown,
                                     std::size_t start_bytes) {
  const ZipReader reader(path, shown);
  std::vector<ZippedFile> files;
  for (const ZipEntry& entry : reader.entries())
    if (counts_as_file(entry)) files.push_back(reader.looked_at(entry, start_bytes));
  return files;
}

UnzippedFile unzip_only_file(const std::filesystem::path& path, const std::string& shown) {
  const ZipReader reader(path, shown);
  std::vector<ZipEntry> entries = reader.entries();
  std::erase_if(entries, [](const ZipEntry& entry) { return !counts_as_file(entry); });
  if (entries.empty()) refuse("{} is a zip archive without a file in it", shown);
  if (std::ranges::find(entries, "xl/workbook.xml", &ZipEntry::name) != entries.end())
    refuse("{} is an Excel workbook, which is not read; save its sheet as CSV", shown);
  if (entries.size() > 1) {
    refuse("{} is a zip archive of {} files ('{}', '{}'{}), but one table is needed: unpack the one to read",
           shown, entries.size(), shortened(entries[0].name), shortened(entries[1].name),
           entries.size() > 2 ? ", …" : "");
  }
  return {std::filesystem::path(entries.front().name).filename().string(), reader.unpack(entries.front())};
}

}  // namespace stoker
