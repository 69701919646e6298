#include "cli/reading_settings.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stoker::cli {

config::Fields reading_settings(SourceConfig& source) {
  constexpr std::array<std::string_view, 4> where{"source", "path", "url", "sample_name"};
  config::Fields settings = fields(source);
  std::erase_if(settings, [&](const config::Field& field) {
    return std::find(where.begin(), where.end(), field.name) != where.end();
  });
  return settings;
}

SourceConfig source_named(const std::string& data, const config::Value& given) {
  SourceConfig source = Source::config_for(data);
  if (given.is_null()) return source;
  config::Diagnostics diagnostics("");
  config::read_fields(reading_settings(source), given, "", diagnostics);
  diagnostics.refuse_if_any();
  return source;
}

}  // namespace stoker::cli
