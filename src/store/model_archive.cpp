#include "store/model_archive.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"

namespace stoker {
namespace {

constexpr std::size_t block_bytes = 512;
constexpr std::size_t piece_bytes = std::size_t{256} << 10;
// All that a model folder may hold (model/model.h).
constexpr std::array<std::string_view, 4> files_of_model{"model.json", "model.safetensors",
                                                         "out_of_fold.safetensors", "validation.safetensors"};

// The header of a file: fields of text at fixed places, numbers in octal digits.
using Header = std::array<char, block_bytes>;
struct Place {
  std::size_t at;
  std::size_t size;
};
constexpr Place name_field{0, 100};
constexpr Place size_field{124, 12};
constexpr Place sum_field{148, 8};
constexpr std::size_t kind_at = 156;
constexpr Place magic_field{257, 6};

void put(Header& header, Place place, std::string_view text) {
  std::memcpy(header.data() + place.at, text.data(), std::min(text.size(), place.size));
}

unsigned sum_of(Header header) {
  put(header, sum_field, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  return sum;
}

std::string header_of(const std::string& name, std::uint64_t bytes) {
  Header header{};
  put(header, name_field, name);
  put(header, {100, 8}, "0000644");
  put(header, {108, 8}, "0000000");
  put(header, {116, 8}, "0000000");
  put(header, size_field, fmt::format("{:011o}", bytes));
  put(header, {136, 12}, "00000000000");
  header[kind_at] = '0';
  put(header, magic_field, std::string_view("ustar\0", 6));
  put(header, {263, 2}, "00");
  put(header, sum_field, fmt::format("{:06o}", sum_of(header)));
  header[sum_field.at + 7] = ' ';
  return {header.data(), header.size()};
}

std::uint64_t padding_of(std::uint64_t bytes) {
  return (block_bytes - bytes % block_bytes) % block_bytes;
}

std::string_view text_in(const Header& header, Place place) {
  const std::string_view whole(header.data() + place.at, place.size);
  return whole.substr(0, whole.find('\0'));
}

std::uint64_t octal_in(const Header& header, Place place) {
  std::uint64_t number = 0;
  std::size_t digits = 0;
  for (const char c : text_in(header, place)) {
    if (c == ' ') continue;
    if (c < '0' || c > '7') refuse("the archive is damaged: a number in it is none");
    number = number * 8 + static_cast<std::uint64_t>(c - '0');
    ++digits;
  }
  if (digits == 0) refuse("the archive is damaged: a number in it is missing");
  return number;
}

// Of a path, once it is known to be one that a model has: nothing else is ever opened.
std::string_view plain_name(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  const std::size_t slash = path.find('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const bool is_upwards = slash != std::string_view::npos && (slash == 0 || path.substr(0, slash) == "..");
  const auto* const known = std::ranges::find(files_of_model, name);
  if (is_upwards || known == files_of_model.end())
    refuse("the archive holds '{}', which is no file of a model; a model has {}", printable(path),
           join(std::vector<std::string>(files_of_model.begin(), files_of_model.end()), ", "));
  return *known;
}

void copy_bytes(std::ifstream& from, std::uint64_t bytes, AtomicFile& to) {
  std::string piece;
  while (bytes > 0) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, piece_bytes)));
    from.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    if (static_cast<std::size_t>(from.gcount()) != piece.size())
      refuse("the archive ends in the middle of a file");
    to.write(piece);
    bytes -= piece.size();
  }
}

}  // namespace

ModelArchive::ModelArchive(const std::filesystem::path& folder) {
  for (const std::string_view name : files_of_model) {
    std::error_code none;
    const std::filesystem::path path = folder / name;
    const std::uintmax_t bytes = std::filesystem::file_size(path, none);
    if (!none) files_.push_back({path, bytes});
  }
  if (files_.empty()) refuse("{} holds no model", folder.string());
}

bool ModelArchive::more(std::string& text) {
  if (has_ended_) return false;
  if (left_ > 0) {
    const std::size_t before = text.size();
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, piece_bytes));
    text.resize(before + count);
    open_.read(text.data() + before, static_cast<std::streamsize>(count));
    if (static_cast<std::size_t>(open_.gcount()) != count) fail("a file of the model is shorter than it was");
    left_ -= count;
    if (left_ == 0) text.append(static_cast<std::size_t>(padding_), '\0');
    return true;
  }
  if (next_ == files_.size()) {
    text.append(2 * block_bytes, '\0');
    has_ended_ = true;
    return true;
  }
  const File& file = files_[next_++];
  open_ = std::ifstream(file.path, std::ios::binary);
  if (!open_) fail("{} cannot be read", file.path.string());
  text += header_of("model/" + file.path.filename().string(), file.bytes);
  left_ = file.bytes;
  padding_ = padding_of(file.bytes);
  return true;
}

void unpack_model(const std::filesystem::path& archive, const std::filesystem::path& folder) {
  std::ifstream file(archive, std::ios::binary);
  const std::uintmax_t size = std::filesystem::file_size(archive);
  if (!file) refuse("the archive cannot be read");
  std::set<std::string_view> names;
  std::uint64_t at = 0;
  while (at + block_bytes <= size) {
    Header header{};
    file.seekg(static_cast<std::streamoff>(at));
    file.read(header.data(), block_bytes);
    at += block_bytes;
    if (std::ranges::all_of(header, [](char c) { return c == '\0'; })) break;  // the end of an archive
    if (!text_in(header, magic_field).starts_with("ustar"))
      refuse("this is no tar archive of a model, such as GET /api/models/ID/file gives");
    if (octal_in(header, sum_field) != sum_of(header)) refuse("the archive is damaged: a sum does not fit");
    const std::uint64_t bytes = octal_in(header, size_field);
    if (bytes > size - at) refuse("the archive ends in the middle of a file");
    const char kind = header[kind_at];
    const bool says_nothing_new = kind == '5' || kind == 'x' || kind == 'g';  // folders, and times of files
    if (!says_nothing_new) {
      if (kind != '0' && kind != '\0')
        refuse("the archive holds a link or a device ('{}'); a model is plain files",
               printable(text_in(header, name_field)));
      const std::string_view name = plain_name(text_in(header, name_field));
      if (!names.insert(name).second) refuse("the archive holds {} twice", name);
      AtomicFile to(folder / name);
      copy_bytes(file, bytes, to);
      to.commit();
    }
    at += bytes + padding_of(bytes);
  }
  if (!names.contains("model.json") || !names.contains("model.safetensors"))
    refuse("the archive lacks model.json or model.safetensors");
}

}  // namespace stoker
