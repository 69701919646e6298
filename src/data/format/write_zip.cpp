#include "data/format/write_zip.h"

#include <limits>
#include <string_view>

#include <arrow/util/crc32.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"

// The format is that of zip.cpp.
namespace stoker {
namespace {

constexpr std::size_t most_files_to_pack = 65'534;
constexpr std::uint64_t most_bytes_to_pack = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t bytes_around_file = 2 * (30 + 46);  // headers, with room to spare for both names

template <class Number>
void append(std::string& text, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    text += static_cast<char>(static_cast<std::uint64_t>(number) >> 8U * i & 0xffU);
}

struct PackedFile {
  std::string name;
  std::uint32_t crc = 0;
  std::uint32_t bytes = 0;
  std::uint32_t begin = 0;  // of its header
};

PackedFile look_at_file(const FileToPack& file) {
  PackedFile packed{file.name};
  std::uint64_t bytes = 0;
  read_blocks(file.path, [&](std::string_view block) {
    packed.crc = arrow::internal::crc32(packed.crc, block.data(), block.size());
    bytes += block.size();
    return bytes <= most_bytes_to_pack;
  });
  packed.bytes = static_cast<std::uint32_t>(bytes);
  return packed;
}

// What both headers of a file have in common: from the version on that unpacks it.
void append_facts(std::string& text, const PackedFile& file) {
  constexpr std::uint16_t version = 20;
  constexpr std::uint16_t names_are_utf8 = 1U << 11U;
  constexpr std::uint16_t stored = 0;
  constexpr std::uint32_t first_moment = 0x0021U << 16U;  // 1 January 1980: the same files, the same archive
  append(text, version);
  append(text, names_are_utf8);
  append(text, stored);
  append(text, first_moment);
  append(text, file.crc);
  append(text, file.bytes);
  append(text, file.bytes);
  append(text, static_cast<std::uint16_t>(file.name.size()));
  append(text, std::uint16_t{0});  // nothing more behind the name
}

std::string header_of(const PackedFile& file) {
  std::string text = "PK\x03\x04";
  append_facts(text, file);
  return text + file.name;
}

std::string entry_of(const PackedFile& file) {
  std::string text = "PK\x01\x02";
  append(text, std::uint16_t{20});
  append_facts(text, file);
  append(text, std::uint16_t{0});  // no remark
  append(text, std::uint16_t{0});  // in this archive alone
  append(text, std::uint16_t{0});
  append(text, std::uint32_t{0});
  append(text, file.begin);
  return text + file.name;
}

std::string end_of(const std::vector<PackedFile>& files, std::uint32_t begin, std::uint32_t bytes) {
  std::string text = "PK\x05\x06";
  append(text, std::uint32_t{0});
  append(text, static_cast<std::uint16_t>(files.size()));
  append(text, static_cast<std::uint16_t>(files.size()));
  append(text, bytes);
  append(text, begin);
  append(text, std::uint16_t{0});
  return text;
}

void refuse_too_much(const std::vector<FileToPack>& files) {
  if (files.size() > most_files_to_pack)
    refuse("a zip archive holds at most {} files, and these are {}", most_files_to_pack, files.size());
  std::uint64_t bytes = 0;
  for (const FileToPack& each : files)
    bytes += std::filesystem::file_size(each.path) + 2 * each.name.size() + bytes_around_file;
  if (bytes > most_bytes_to_pack)
    refuse("a zip archive holds at most 4 GiB, and these are {}", human_bytes(bytes));
}

}  // namespace

void write_zip(const std::vector<FileToPack>& files, const std::filesystem::path& path) {
  refuse_too_much(files);
  AtomicFile archive(path);
  std::uint64_t at = 0;
  const auto write = [&](std::string_view text) {
    archive.write(text);
    at += text.size();
    return true;
  };
  std::vector<PackedFile> packed;
  for (const FileToPack& each : files) {
    PackedFile file = look_at_file(each);
    file.begin = static_cast<std::uint32_t>(at);
    write(header_of(file));
    read_blocks(each.path, write);
    packed.push_back(std::move(file));
  }
  const auto begin = static_cast<std::uint32_t>(at);
  for (const PackedFile& each : packed) write(entry_of(each));
  write(end_of(packed, begin, static_cast<std::uint32_t>(at - begin)));
  archive.commit();
}

}  // namespace stoker
