#include "base/error.h"
#include "data/source.h"
#include "pipeline/cards/card_settings.h"
#include "pipeline/cards/cards.h"
#include "store/open_source.h"

namespace stoker::cards {
namespace {

config::Value check_load(const config::Value& config, const std::string& path,
                         config::Diagnostics& diagnostics) {
  const auto settings = config::read<SourceConfig>(config, path, diagnostics);
  for (const SettingProblem& each : problems_with(settings))
    diagnostics.add(line_of(config, each.setting), path + "." + each.setting, each.problem);
  try {
    date_forms_of(settings);
  } catch (const Error& error) {
    diagnostics.add(line_of(config, "date_columns"), path + ".date_columns", error.what());
  }
  return config::write(settings);
}

Outside look_outside(const config::Value& config, const std::filesystem::path& document_folder,
                     const StopSignal& stop, const FindKnownRows& find) {
  auto source =
      std::make_shared<Source>(open_source(settings_of<SourceConfig>(config), document_folder, &stop, find));
  return {source->fingerprint(), source, source->rows_to_know(), source->has_known_rows(),
          source->warnings()};
}

PortValues load(const CardContext& context) {
  const Notes notes = [&context](Severity severity, const std::string& message) {
    context.listener.note(severity, message);
  };
  return {{"dataset", static_cast<const Source*>(context.outside.opened.get())->read({}, notes)}};
}

std::optional<Table> read_as_text(const Outside& outside, const std::vector<std::string>& columns) {
  const auto& source = *static_cast<const Source*>(outside.opened.get());
  if (!source.infers_types()) return std::nullopt;
  return source.read(columns);
}

std::optional<Table> first_rows(const Outside& outside) {
  return static_cast<const Source*>(outside.opened.get())->first_rows();
}

std::string name_of_source(const config::Value& config) {
  return source_name(settings_of<SourceConfig>(config));
}

}  // namespace

CardType data_load() {
  return {.name = "data_load",
          .version = 5,
          .title = "Load data",
          .help =
              "Reads a table from a file, a URL, a database, a built-in sample or datasets on record. Column "
              "types are inferred "
              "where the source has none.",
          .inputs = {},
          .outputs = {{"dataset", PortType::table, "The rows as they were read"}},
          .file_settings = {"path"},
          .address_settings = {"url"},
          .passing_settings = {"uri", "partitions", "partition_column", "refresh", "refresh_query",
                               "dataset_ids"},
          .describe = described<SourceConfig>,
          .check = check_load,
          .look_outside = look_outside,
          .run = load,
          .read_as_text = read_as_text,
          .first_rows = first_rows,
          .source_name = name_of_source};
}

}  // namespace stoker::cards
