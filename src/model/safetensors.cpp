#include "model/safetensors.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <limits>
#include <span>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "config/bounded_json.h"

namespace stoker {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Bounds on a header, so that a hostile file costs little.
constexpr std::uint64_t most_header_bytes = 32'000'000;
constexpr std::size_t most_arrays = 100'000;
constexpr std::size_t most_dimensions = 16;
// An array is described by an object with two lists, and mostly has one or two dimensions.
constexpr config::JsonBounds most_of_a_header{
    .values = 16 * most_arrays, .containers = 3 * most_arrays + 2, .depth = 4};

struct TypeName {
  const char* name;
  DType type;
};
constexpr std::array<TypeName, 5> type_names{{{"F32", DType::float32},
                                              {"F64", DType::float64},
                                              {"I32", DType::int32},
                                              {"I64", DType::int64},
                                              {"U8", DType::uint8}}};

const char* format_name(DType type) {
  const auto is_it = [&](const TypeName& known) { return known.type == type; };
  return std::find_if(type_names.begin(), type_names.end(), is_it)->name;
}

// Where an array lies in the data part of a file.
struct Entry {
  std::string name;
  DType type = DType::float32;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class Reader {
 public:
  explicit Reader(const fs::path& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_) refuse_read(path, errno);
    std::error_code error;
    size_ = fs::file_size(path, error);
    if (error) refuse_read(path, error.value());
  }

  NamedArrays read() {
    const json header = read_header();
    std::vector<Entry> entries;
    for (const auto& [name, description] : header.items()) {
      if (name != "__metadata__") entries.push_back(entry(name, description));
    }
    refuse_unless_tiled(entries);
    NamedArrays arrays;
    for (const Entry& e : entries) {
      Array array(e.type, e.shape);
      read_into(array.data(), array.bytes(), "it ends before its data does");
      arrays.push_back({e.name, std::move(array)});
    }
    return arrays;
  }

 private:
  [[noreturn]] void wrong(const std::string& why) const {
    refuse("{} is not a valid safetensors file: {}", path_.string(), why);
  }

  void read_into(void* place, std::size_t bytes, const char* when_too_short) {
    file_.read(static_cast<char*>(place), static_cast<std::streamsize>(bytes));
    if (file_) return;
    if (file_.eof()) wrong(when_too_short);
    refuse_read(path_, errno);
  }

  json read_header() {
    std::array<unsigned char, 8> prefix{};
    read_into(prefix.data(), prefix.size(), "it is shorter than 8 bytes");
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < prefix.size(); ++i)
      length |= static_cast<std::uint64_t>(prefix[i]) << (8 * i);
    if (length > most_header_bytes || length > size_ - prefix.size()) {
      wrong(fmt::format("its header would be {} bytes long, but the file has {}", length, size_));
    }
    data_bytes_ = size_ - prefix.size() - length;
    std::string text(length, '\0');
    read_into(text.data(), length, "it ends before its header does");
    const json header = parsed(text);
    if (!header.is_object()) wrong("its header is not a JSON object");
    if (header.size() > most_arrays) wrong(fmt::format("it names more than {} arrays", most_arrays));
    return header;
  }

  json parsed(const std::string& header) const {
    try {
      return config::parse_bounded_json(header, most_of_a_header);
    } catch (const json::exception&) {
      wrong("its header is not a JSON object");
    } catch (const Error& error) {
      wrong(fmt::format("its header is too large: {}", error.what()));
    }
  }

  Entry entry(const std::string& name, const json& description) const {
    const auto is_valid = [&] {
      if (!description.is_object()) return false;
      for (const char* key : {"dtype", "shape", "data_offsets"}) {
        if (!description.contains(key)) return false;
      }
      const json& offsets = description["data_offsets"];
      return description["dtype"].is_string() && description["shape"].is_array() && offsets.is_array() &&
             offsets.size() == 2 && offsets[0].is_number_unsigned() && offsets[1].is_number_unsigned();
    };
    if (!is_valid()) wrong(fmt::format("'{}' is not described by dtype, shape and data_offsets", name));
    Entry result{name, type_of(name, description["dtype"].get<std::string>()),
                 shape_of(name, description["shape"]), description["data_offsets"][0].get<std::uint64_t>(),
                 description["data_offsets"][1].get<std::uint64_t>()};
    if (result.begin > result.end || result.end - result.begin != bytes_of(result)) {
      wrong(fmt::format("the size of '{}' does not match its shape", name));
    }
    return result;
  }

  DType type_of(const std::string& name, const std::string& text) const {
    for (const TypeName& known : type_names) {
      if (text == known.name) return known.type;
    }
    wrong(fmt::format("'{}' has the type '{}'; only F32, F64, I32, I64 and U8 can be read", name, text));
  }

  Shape shape_of(const std::string& name, const json& dimensions) const {
    if (dimensions.size() > most_dimensions) {
      wrong(fmt::format("'{}' has {} dimensions", name, dimensions.size()));
    }
    Shape shape;
    for (const json& dimension : dimensions) {
      const bool usable = dimension.is_number_unsigned() &&
                          dimension.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
      if (!usable) wrong(fmt::format("'{}' has a dimension that is not a whole number", name));
      shape.push_back(dimension.get<std::int64_t>());
    }
    return shape;
  }

  std::uint64_t bytes_of(const Entry& entry) const {
    std::uint64_t bytes = size_of(entry.type);
    for (const std::int64_t dimension : entry.shape) {
      const auto factor = static_cast<std::uint64_t>(dimension);
      if (factor != 0 && bytes > data_bytes_ / factor) {
        wrong(fmt::format("'{}' is larger than the file", entry.name));
      }
      bytes *= factor;
    }
    return bytes;
  }

  // The arrays must fill the data part exactly: no hole, no overlap, nothing behind the last.
  void refuse_unless_tiled(std::vector<Entry>& entries) const {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    std::uint64_t position = 0;
    for (const Entry& e : entries) {
      if (e.begin != position) {
        wrong(fmt::format("'{}' overlaps another array, or leaves a gap before it", e.name));
      }
      position = e.end;
    }
    if (position != data_bytes_) {
      wrong(fmt::format("its arrays take {} bytes, but the file has {} for them", position, data_bytes_));
    }
  }

  fs::path path_;
  std::ifstream file_;
  std::uint64_t size_ = 0;
  std::uint64_t data_bytes_ = 0;
};

std::string header_text(const NamedArrays& arrays, const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t position = 0;
  for (const NamedArray& named : arrays) {
    if (named.name == "__metadata__" || header.contains(named.name)) {
      fail("two arrays of a safetensors file would be named '{}'", named.name);
    }
    header[named.name] = {{"dtype", format_name(named.array.type())},
                          {"shape", named.array.shape()},
                          {"data_offsets", {position, position + named.array.bytes()}}};
    position += named.array.bytes();
  }
  std::string text = header.dump();
  // The data starts at a multiple of 8 bytes; spaces behind the JSON are part of the format.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

void write_safetensors(const fs::path& path, const NamedArrays& arrays,
                       const std::map<std::string, std::string>& metadata) {
  // Wide elements first, so that every array is aligned for its type.
  NamedArrays ordered = arrays;
  std::stable_sort(ordered.begin(), ordered.end(), [](const NamedArray& a, const NamedArray& b) {
    return size_of(a.array.type()) > size_of(b.array.type());
  });
  const std::string header = header_text(ordered, metadata);
  std::array<char, 8> prefix{};
  for (std::size_t i = 0; i < prefix.size(); ++i) prefix[i] = static_cast<char>(header.size() >> (8 * i));

  AtomicFile file(path);
  file.write(std::string_view(prefix.data(), prefix.size()));
  file.write(header);
  for (const NamedArray& named : ordered) {
    const Array host = named.array.to_host();
    file.write(std::span(static_cast<const std::byte*>(host.data()), host.bytes()));
  }
  file.commit();
}

NamedArrays read_safetensors(const fs::path& path) {
  return Reader(path).read();
}

}  // namespace stoker
