#include "data/source/known_rows.h"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "config/value.h"

namespace stoker {

std::optional<RefreshAge> refresh_age(const std::string& text) {
  if (text == "always") return RefreshAge{0.0};
  if (text == "never") return RefreshAge{};
  static constexpr std::array<std::pair<std::string_view, double>, 6> units{
      {{"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86'400}, {"w", 604'800}}};
  constexpr std::int64_t most = 1'000'000;
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || count < 1 || count > most) return std::nullopt;
  for (const auto& [unit, seconds] : units)
    if (std::string_view(rest, end) == unit) return RefreshAge{static_cast<double>(count) * seconds};
  return std::nullopt;
}

bool may_know_rows(const SourceConfig& config) {
  return config.refresh != "always" || !config.refresh_query.empty();
}

bool are_fresh(const KnownRows& rows, const std::string& refresh, std::int64_t now) {
  const std::optional<RefreshAge> age = refresh_age(refresh);
  if (!age) return false;
  if (!age->seconds) return true;
  return rows.read_at <= now && static_cast<double>(now - rows.read_at) < *age->seconds;
}

// All settings, so that one that is new changes the key unless it stands here.
std::string key_of_known_rows(const SourceConfig& config, const std::string& place) {
  nlohmann::json settings = config::to_json(config::write(config));
  for (const char* passing :
       {"refresh", "partitions", "partition_column", "url_timeout", "url_max_megabytes", "path"})
    settings.erase(passing);
  return sha256_of_text(nlohmann::json{{"settings", std::move(settings)}, {"place", place}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace stoker
