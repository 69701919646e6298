#include "pipeline/cache/known_sources.h"

#include <algorithm>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/without_sync.h"
#include "base/text/text.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int known_format = 1;
constexpr std::size_t largest_known = 1U << 16U;
constexpr const char* known_ending = ".json";

bool is_key(const std::string& name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

std::string text_of_known_rows(const KnownRows& rows) {
  return fmt::format("{} is not read again: its rows are those of {}", rows.name, moment_utc(rows.read_at));
}

std::optional<KnownSources::Known> KnownSources::read(const std::string& key) const {
  if (!is_key(key)) return std::nullopt;
  std::error_code none;
  if (!fs::exists(folder_ / (key + known_ending), none)) return std::nullopt;
  try {
    const json told = json::parse(read_file(folder_ / (key + known_ending), largest_known));
    if (told.at("format") != known_format) return std::nullopt;
    Known known;
    known.rows = {key, told.at("name").get<std::string>(), told.at("fingerprint").get<std::string>(),
                  told.at("read_at").get<std::int64_t>(), told.at("answer").get<std::string>()};
    known.entry = told.at("entry").get<std::string>();
    constexpr std::int64_t year_10000 = 253'402'300'800;
    if (known.rows.read_at < 0 || known.rows.read_at >= year_10000) return std::nullopt;
    if (!is_key(known.entry) || known.rows.fingerprint.empty()) return std::nullopt;
    return known;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<KnownRows> KnownSources::find(const std::string& key) const {
  const std::optional<Known> known = read(key);
  if (!known) return std::nullopt;
  return known->rows;
}

void KnownSources::keep(const KnownRows& rows, const std::string& entry) const {
  const WithoutSync checked_when_read;
  const json told{{"format", known_format},  {"name", rows.name},     {"fingerprint", rows.fingerprint},
                  {"read_at", rows.read_at}, {"answer", rows.answer}, {"entry", entry}};
  make_folder(folder_);
  write_file(folder_ / (rows.key + known_ending), told.dump(2, ' ', false, json::error_handler_t::replace));
}

std::vector<KnownSources::Known> KnownSources::all() const {
  std::vector<Known> found;
  std::error_code none;
  for (const fs::directory_entry& each : fs::directory_iterator(folder_, none)) {
    if (each.path().extension() != known_ending) continue;
    if (std::optional<Known> known = read(each.path().stem().string())) found.push_back(std::move(*known));
  }
  std::ranges::sort(found, {}, [](const Known& known) { return known.rows.key; });
  return found;
}

void KnownSources::forget(const std::string& key) const {
  std::error_code gone;
  fs::remove(folder_ / (key + known_ending), gone);
}

}  // namespace stoker
