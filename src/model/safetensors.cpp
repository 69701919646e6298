#include "model/safetensors.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::uint64_t largest_header = 64U << 20;
constexpr std::size_t most_arrays = 100'000;
constexpr std::size_t most_dimensions = 16;

struct TypeName {
  DType type;
  std::string_view name;
};
constexpr TypeName type_names[] = {{DType::float32, "F32"},
                                   {DType::float64, "F64"},
                                   {DType::int32, "I32"},
                                   {DType::int64, "I64"},
                                   {DType::uint8, "U8"}};

std::string name_in_file(DType type) {
  for (const TypeName& entry : type_names) {
    if (entry.type == type) return std::string(entry.name);
  }
  return {};
}

// One array as the header describes it; refuses whatever does not add up.
class HeaderReader {
 public:
  HeaderReader(std::string file, std::uint64_t data_bytes)
      : file_(std::move(file)), data_bytes_(data_bytes) {}

  struct Described {
    std::string name;
    DType type;
    Shape shape;
    std::uint64_t begin;
    std::uint64_t end;
  };

  std::vector<Described> read(const json& header) const {
    if (!header.is_object()) wrong("its header is not a JSON object");
    if (header.size() > most_arrays) wrong("it has too many arrays");
    std::vector<Described> all;
    for (const auto& [name, entry] : header.items()) {
      if (name != "__metadata__") all.push_back(describe(name, entry));
    }
    std::sort(all.begin(), all.end(),
              [](const Described& a, const Described& b) { return a.begin < b.begin; });
    std::uint64_t expected = 0;
    for (const Described& one : all) {
      if (one.begin != expected) wrong("its arrays overlap or leave gaps");
      expected = one.end;
    }
    if (expected != data_bytes_) wrong("it is truncated, or longer than its header says");
    return all;
  }

  [[noreturn]] void wrong(std::string_view what) const {
    refuse("{} is not a usable safetensors file: {}", file_, what);
  }

 private:
  Described describe(const std::string& name, const json& entry) const {
    const bool whole = entry.is_object() && entry.contains("dtype") && entry["dtype"].is_string() &&
                       entry.contains("shape") && entry["shape"].is_array() &&
                       entry.contains("data_offsets") && entry["data_offsets"].is_array() &&
                       entry["data_offsets"].size() == 2;
    if (!whole) wrong("an array is described incompletely");
    Described described{name, type_of(entry["dtype"].get<std::string>()), {}, 0, 0};
    if (entry["shape"].size() > most_dimensions) wrong("an array has too many dimensions");
    std::uint64_t bytes = size_of(described.type);
    for (const json& extent : entry["shape"]) {
      if (!extent.is_number_unsigned()) wrong("a dimension is not a whole number");
      const auto size = extent.get<std::uint64_t>();
      if (size > (std::uint64_t{1} << 48) || __builtin_mul_overflow(bytes, size, &bytes))
        wrong("an array is too large");
      described.shape.push_back(static_cast<std::int64_t>(size));
    }
    for (const json& offset : entry["data_offsets"]) {
      if (!offset.is_number_unsigned()) wrong("an offset is not a whole number");
    }
    described.begin = entry["data_offsets"][0].get<std::uint64_t>();
    described.end = entry["data_offsets"][1].get<std::uint64_t>();
    const bool fits = described.begin <= described.end && described.end - described.begin == bytes;
    if (!fits) wrong("an array's size does not match its shape");
    return described;
  }

  DType type_of(const std::string& name) const {
    for (const TypeName& entry : type_names) {
      if (entry.name == name) return entry.type;
    }
    wrong("it holds a type of number that is not read here");
  }

  std::string file_;
  std::uint64_t data_bytes_;
};

json parse_header(const std::string& text, const HeaderReader& reader) {
  // Arrays inside of arrays are not part of the format; the depth is bounded by refusing them while parsing.
  bool too_deep = false;
  const json header = json::parse(
      text,
      [&too_deep](int depth, json::parse_event_t, json&) {
        too_deep = too_deep || depth > 4;
        return !too_deep;
      },
      false);
  if (too_deep || header.is_discarded()) reader.wrong("its header is not JSON of the expected form");
  return header;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const NamedArrays& arrays,
                       const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const NamedArray& entry : arrays) {
    const std::uint64_t end = offset + entry.array.bytes();
    header[entry.name] = {{"dtype", name_in_file(entry.array.type())},
                          {"shape", entry.array.shape()},
                          {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begins at a multiple of 8
  const auto length = static_cast<std::uint64_t>(text.size());

  AtomicFile file(path);
  file.write(std::string_view(reinterpret_cast<const char*>(&length), sizeof length));
  file.write(text);
  for (const NamedArray& entry : arrays) {
    const Array host = entry.array.to_host();
    file.write(std::span(static_cast<const std::byte*>(host.data()), host.bytes()));
  }
  file.commit();
}

NamedArrays read_safetensors(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || !std::filesystem::is_regular_file(path)) refuse("cannot read {}: no such file", path.string());
  const auto file_bytes = static_cast<std::uint64_t>(file.tellg());
  std::uint64_t header_bytes = 0;
  file.seekg(0);
  file.read(reinterpret_cast<char*>(&header_bytes), sizeof header_bytes);
  if (!file || header_bytes > largest_header || header_bytes > file_bytes - sizeof header_bytes) {
    refuse("{} is not a usable safetensors file: it is truncated, or something else", path.string());
  }
  std::string text(header_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(header_bytes));
  const HeaderReader reader(path.string(), file_bytes - sizeof header_bytes - header_bytes);
  NamedArrays arrays;
  for (const HeaderReader::Described& described : reader.read(parse_header(text, reader))) {
    Array array(described.type, described.shape);
    file.read(static_cast<char*>(array.data()), static_cast<std::streamsize>(array.bytes()));
    if (!file) reader.wrong("it is truncated");
    arrays.push_back({described.name, std::move(array)});
  }
  return arrays;
}

}  // namespace stoker
