#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/trimmed.h"
#include "data/arrays/envi.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

std::string_view trimmed_text(std::string_view text) {
  return trimmed(text, " \t\r\n\f\v");
}

// "Data  Type" is data type.
std::string envi_key(std::string_view text) {
  std::string key;
  for (const char c : lower_case(trimmed_text(text))) {
    const bool is_blank = c == ' ' || c == '\t' || c == '_';
    if (is_blank && key.ends_with(' ')) continue;
    key += is_blank ? ' ' : c;
  }
  return key;
}

using EnviFields = std::map<std::string, std::string>;

class EnviReading {
 public:
  EnviReading(const std::string& text, std::string shown) : shown_(std::move(shown)) { take_fields(text); }

  EnviHeader header() const {
    EnviHeader header;
    header.samples = positive("samples");
    header.lines = positive("lines");
    header.bands = positive("bands");
    header.type = type();
    header.interleave = interleave();
    header.is_big_endian = byte_order(header.type);
    header.header_offset = has("header offset") ? whole("header offset", 0) : 0;
    header.is_spectral_library = is_library(header);
    refuse_unreadable();
    take_wavelengths(header);
    if (has("reflectance scale factor")) header.scale_factor = factor();
    if (has("data ignore value"))
      header.ignore_value = number(fields_.at("data ignore value"), "data ignore value");
    take_classes(header);
    return header;
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    refuse("{} is not a valid ENVI header: {}", shown_, what);
  }
  bool has(const std::string& key) const { return fields_.contains(key); }

  void take_fields(const std::string& text) {
    std::string_view rest = text;
    if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
    if (rest.find('\0') != std::string_view::npos) damaged("it is not text");
    if (trimmed_text(next_line(rest)) != "ENVI") damaged("its first line is not ENVI");
    while (!rest.empty()) {
      const std::string_view line = trimmed_text(next_line(rest));
      if (line.empty() || line.front() == ';') continue;
      const std::size_t between = line.find('=');
      if (between == std::string_view::npos)
        damaged(fmt::format("a line does not read FIELD = VALUE: '{}'", printable(shortened(line))));
      const std::string key = envi_key(line.substr(0, between));
      std::string value(trimmed_text(line.substr(between + 1)));
      if (value.starts_with('{')) value = braced(key, std::move(value), rest);
      if (key.empty()) damaged("a field has no name");
      if (!fields_.emplace(key, std::move(value)).second)
        damaged(fmt::format("'{}' appears twice", printable(shortened(key))));
    }
  }

  static std::string_view next_line(std::string_view& rest) {
    const std::size_t end = rest.find_first_of("\r\n");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return line;
  }

  // What stands between braces, over several lines mostly.
  std::string braced(const std::string& key, std::string value, std::string_view& rest) const {
    while (value.find('}') == std::string::npos) {
      if (rest.empty())
        damaged(fmt::format("the opening brace of '{}' is never closed", printable(shortened(key))));
      value += '\n';
      value += next_line(rest);
    }
    const std::size_t end = value.find('}');
    if (!trimmed_text(std::string_view(value).substr(end + 1)).empty())
      damaged(fmt::format("there is something after the closing brace of '{}'", printable(shortened(key))));
    return std::string(trimmed_text(std::string_view(value).substr(1, end - 1)));
  }

  const std::string& needed(const std::string& key) const {
    const auto found = fields_.find(key);
    if (found == fields_.end()) damaged(fmt::format("'{}' is missing", key));
    return found->second;
  }

  std::int64_t whole(const std::string& key, std::int64_t least) const {
    const std::string& text = needed(key);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least)
      damaged(fmt::format("'{}' is '{}', and must be a whole number of at least {}", key,
                          printable(shortened(text)), least));
    return value;
  }
  std::int64_t positive(const std::string& key) const { return whole(key, 1); }

  double number(std::string_view text, const std::string& key) const {
    text = trimmed_text(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      damaged(fmt::format("'{}' has '{}', which is not a number", key, printable(shortened(text))));
    return value;
  }

  StoredType type() const {
    constexpr std::array<std::pair<std::int64_t, StoredType>, 9> known{{{1, StoredType::uint8},
                                                                        {2, StoredType::int16},
                                                                        {3, StoredType::int32},
                                                                        {4, StoredType::float32},
                                                                        {5, StoredType::float64},
                                                                        {12, StoredType::uint16},
                                                                        {13, StoredType::uint32},
                                                                        {14, StoredType::int64},
                                                                        {15, StoredType::uint64}}};
    const std::int64_t given = whole("data type", 0);
    for (const auto& [code, type] : known)
      if (code == given) return type;
    damaged(fmt::format("'data type' {} {}; 1 to 5 and 12 to 15 can be read", given,
                        given == 6 || given == 9 ? "stands for complex numbers" : "is not known"));
  }

  Interleave interleave() const {
    const std::string given = lower_case(needed("interleave"));
    if (given == "bsq") return Interleave::bsq;
    if (given == "bil") return Interleave::bil;
    if (given == "bip") return Interleave::bip;
    damaged(fmt::format("'interleave' is '{}', and must be bsq, bil or bip", printable(shortened(given))));
  }

  bool byte_order(StoredType type) const {
    if (!has("byte order") && size_of(type) == 1) return false;
    const std::int64_t given = whole("byte order", 0);
    if (given > 1) damaged(fmt::format("'byte order' is {}, and must be 0 or 1", given));
    return given == 1;
  }

  bool is_library(const EnviHeader& header) const {
    if (!has("file type") || lower_case(fields_.at("file type")) != "envi spectral library") return false;
    if (header.bands != 1) damaged("a spectral library has one band");
    return true;
  }

  void refuse_unreadable() const {
    if (has("file compression") && fields_.at("file compression") != "0")
      refuse("{}: the numbers are compressed, which cannot be read; save them uncompressed", shown_);
    if (has("major frame offsets")) {
      for (const std::string& each : split_text(fields_.at("major frame offsets"), ','))
        if (number(each, "major frame offsets") != 0)
          refuse("{}: major frame offsets other than 0 cannot be read", shown_);
    }
  }

  double factor() const {
    const double value = number(fields_.at("reflectance scale factor"), "reflectance scale factor");
    if (!std::isfinite(value) || value <= 0)
      damaged(fmt::format("'reflectance scale factor' is {}, and must be above 0", value));
    return value;
  }

  void take_wavelengths(EnviHeader& header) const {
    if (!has("wavelength") || fields_.at("wavelength").empty()) return;
    for (const std::string& each : split_text(fields_.at("wavelength"), ',')) {
      header.wavelengths.push_back(number(each, "wavelength"));
      if (!std::isfinite(header.wavelengths.back())) damaged("a wavelength is not finite");
    }
    const std::int64_t channels = header.is_spectral_library ? header.samples : header.bands;
    if (std::ssize(header.wavelengths) != channels)
      damaged(fmt::format("it has {} and {}", counted(header.wavelengths.size(), "wavelength"),
                          counted(static_cast<std::uint64_t>(channels), "band")));
    bring_to_nanometres(header);
  }

  void bring_to_nanometres(EnviHeader& header) const {
    std::string unit = has("wavelength units") ? lower_case(fields_.at("wavelength units")) : "";
    if (unit == "unknown") unit = "";
    auto& all = header.wavelengths;
    const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
      return std::ranges::find(names, std::string_view(unit)) != names.end();
    };
    const bool are_small = std::ranges::all_of(all, [](double each) { return each > 0 && each < 100; });
    if (is_one_of({"nanometers", "nanometres", "nanometer", "nm"})) return;
    if (is_one_of({"micrometers", "micrometres", "micrometer", "microns", "micron", "um", "\xc2\xb5m",
                   "\xce\xbcm"}) ||
        (unit.empty() && are_small)) {
      if (unit.empty())
        header.wavelength_note =
            "the header does not say in which unit its wavelengths are; as all are below 100, micrometres "
            "are assumed";
      for (double& each : all) each *= 1000;
    } else if (is_one_of({"wavenumber", "cm-1", "1/cm"})) {
      for (double& each : all) {
        if (each <= 0) damaged("a wavenumber is not above 0");
        each = 1e7 / each;
      }
    } else if (unit.empty()) {
      header.wavelength_note =
          "the header does not say in which unit its wavelengths are; nanometres are assumed";
    } else if (unit == "index") {
      header.wavelength_note = "the header numbers its bands, in place of their wavelengths";
      all.clear();
    } else {
      header.wavelength_note =
          fmt::format("the wavelength unit '{}' is not known, so the wavelengths are left out",
                      printable(shortened(unit)));
      all.clear();
    }
  }

  void take_classes(EnviHeader& header) const {
    if (!has("class names")) return;
    int number_of_class = 0;
    for (const std::string& each : split_text(fields_.at("class names"), ',')) {
      if (number_of_class > 255) return;
      if (const std::string_view name = trimmed_text(each); !name.empty())
        header.classes[number_of_class] = name;
      ++number_of_class;
    }
  }

  std::string shown_;
  EnviFields fields_;
};

}  // namespace

EnviHeader parse_envi_header(const std::string& text, const std::string& shown) {
  return EnviReading(text, shown).header();
}

}  // namespace stoker
