#include "cli/flags/reading_settings.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/view/terminal.h"
#include "config/flags.h"
#include "store/open_source.h"

namespace stoker::cli {
namespace {

// Not among the flags of the help: who knows them from documents is told why they are none.
void refuse_refresh_flags(CLI::App& app) {
  for (const char* flag : {"--refresh", "--refresh-query"}) {
    const CLI::callback_t refuse_flag = [flag](const CLI::results_t&) -> bool {
      refuse(
          "{} is for documents, as a setting of data_load that stoker run and stoker sweep obey; this "
          "command "
          "looks at the rows before it uses them, and reads them each time",
          flag);
    };
    app.add_option(flag, refuse_flag)->group("");
  }
}

void refuse_flags_of_samples(const SourceConfig& source, const config::Value& given) {
  if (source.source == SourceKind::sample) return;
  for (const auto& [flag, setting] :
       {std::pair{"--sample-rows", "sample_rows"}, std::pair{"--sample-seed", "sample_seed"}})
    if (given.find(setting) != nullptr)
      refuse("{} is not a setting of {}; it belongs to built-in samples (sample:NAME)", flag,
             source_name(source));
}

}  // namespace

config::Fields reading_settings(SourceConfig& source) {
  // The refreshing is for documents: a command looks at the rows before it runs, and reads them for that.
  constexpr std::array<std::string_view, 8> where{"source", "path",    "url",           "sample_name",
                                                  "uri",    "refresh", "refresh_query", "dataset_ids"};
  config::Fields settings = fields(source);
  std::erase_if(settings, [&](const config::Field& field) {
    return std::find(where.begin(), where.end(), field.name) != where.end();
  });
  return settings;
}

void add_reading_flags(CLI::App& app, config::Value& given) {
  SourceConfig usual;
  const config::Fields settings = reading_settings(usual);
  config::add_flags(app, settings, given);
  refuse_refresh_flags(app);
  const auto dates = std::ranges::find(settings, "date_columns", &config::Field::name);
  const CLI::callback_t take = [&given, name = dates->name](const CLI::results_t& texts) {
    config::Value forms(config::Value::Map{});
    for (const std::string& text : texts) {
      const std::size_t between = text.rfind('=');
      if (between == std::string::npos || between == 0)
        refuse("--date-columns takes COLUMN=FORM, such as 'sold=%d/%m/%Y', found '{}'", text);
      forms.set(text.substr(0, between), text.substr(between + 1));
    }
    given.set(name, std::move(forms));
    return true;
  };
  app.add_option("--date-columns", take, dates->help)
      ->type_name("COLUMN=FORM")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

SourceConfig source_named(const std::string& data, const config::Value& given) {
  SourceConfig source = Source::config_for(data);
  if (given.is_null()) return source;
  config::Diagnostics diagnostics("");
  config::read_fields(reading_settings(source), given, "", diagnostics);
  diagnostics.refuse_if_any();
  refuse_flags_of_samples(source, given);
  // Arrays in a file may be columns of a table as well as cubes.
  constexpr std::array<const char*, 5> of_cubes{"cube_key", "mask_path", "mask_key", "wavelengths",
                                                "processing"};
  const bool names_cubes =
      std::ranges::any_of(of_cubes, [&](const char* name) { return given.find(name) != nullptr; });
  if (names_cubes && (source.source == SourceKind::file || source.source == SourceKind::hdf5))
    source.source = SourceKind::cubes;
  return source;
}

Notes told_notes() {
  return [](Severity severity, const std::string& message) {
    const bool is_warning = severity == Severity::warning;
    tell({{is_warning ? "warning: " : "note: ", is_warning ? Colour::yellow : Colour::grey}, {message}});
  };
}

Source opened_source(const std::string& data, const config::Value& given) {
  Source source = open_source(source_named(data, given), std::filesystem::current_path());
  for (const std::string& warning : source.warnings()) told_notes()(Severity::warning, warning);
  return source;
}

}  // namespace stoker::cli
