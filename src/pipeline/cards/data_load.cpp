#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "data/cubes/cube_rows.h"
#include "data/cubes/cubes.h"
#include "data/cubes/found_cubes.h"
#include "data/sample/samples.h"
#include "data/source/source.h"
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

// None where they cannot be found here: they may be where the document is run.
std::optional<FoundCubes> cubes_found_here(const SourceConfig& settings,
                                           const std::filesystem::path& folder) {
  try {
    return find_cubes(settings, folder);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;  // which the run tells
  }
}

// As table_of_cubes() makes them.
std::optional<std::vector<std::string>> columns_of_cubes(const SourceConfig& settings,
                                                         const std::filesystem::path& folder) {
  const std::optional<FoundCubes> found = cubes_found_here(settings, folder);
  if (!found) return std::nullopt;
  std::vector<std::string> names{"cube"};
  if (std::ranges::any_of(found->cubes, [](const FoundCube& each) { return each.read_mask != nullptr; }))
    names.emplace_back(column_of_marks);
  names.emplace_back(column_of_nan);
  names.emplace_back(column_of_infinite);
  names.emplace_back(mask_target);
  return names;
}

// Of a dataset its record tells, of a sample a few rows, of cubes their files; of another file nobody knows
// before it is opened.
std::optional<std::vector<std::string>> columns_of_source(const config::Value& config,
                                                          const std::filesystem::path* document_folder) {
  const auto settings = settings_of<SourceConfig>(config);
  if (settings.source == SourceKind::cubes && document_folder != nullptr)
    return columns_of_cubes(settings, *document_folder);
  if (settings.source == SourceKind::sample) {
    constexpr std::int64_t few = 2;
    const Table rows = make_sample(settings.sample_name, few, settings.sample_seed);
    std::vector<std::string> names = rows.column_names();
    if (rows.cubes) names.emplace_back(mask_target);  // by which models of cubes know what they learn
    return names;
  }
  if (settings.source != SourceKind::datasets) return std::nullopt;
  std::optional<std::vector<std::string>> names;
  DatasetStore store;
  for (const std::string& id : settings.dataset_ids) {
    if (!store.is_known(id))
      refuse("there is no dataset '{}' on record{}", printable(id), did_you_mean(id, store.known_ids()));
    if (names) continue;  // all have the same
    const DatasetRecord dataset = store.find_known(id);
    names.emplace();
    for (const auto& [name, type] : dataset.columns) names->push_back(name);
    // Earlier versions put cubes on record without it.
    if (dataset.cubes && std::ranges::find(*names, column_of_infinite) == names->end())
      names->emplace_back(column_of_infinite);
  }
  return names;
}

std::optional<KnownCubes> cubes_of_source(const config::Value& config,
                                          const std::filesystem::path* document_folder) {
  const auto settings = settings_of<SourceConfig>(config);
  if (settings.source == SourceKind::sample) {
    constexpr std::int64_t few = 2;
    const Table rows = make_sample(settings.sample_name, few, settings.sample_seed);
    if (!rows.cubes) return std::nullopt;
    return KnownCubes{rows.cubes->channels(), rows.cubes->wavelengths};
  }
  if (settings.source != SourceKind::cubes || document_folder == nullptr) return std::nullopt;
  const std::optional<FoundCubes> found = cubes_found_here(settings, *document_folder);
  if (!found) return std::nullopt;
  return KnownCubes{found->cubes.front().size(2), found->wavelengths};
}

std::string name_of_source(const config::Value& config) {
  return source_name(settings_of<SourceConfig>(config));
}

// Which kinds of sources have use for a setting that not all of them have.
std::vector<OnlyWith> settings_by_source() {
  const std::vector<std::string> texts{"csv", "file", "url"};
  std::vector<OnlyWith> all{{"path", "source", {"csv", "file", "sqlite", "hdf5", "cubes"}},
                            {"sample_name", "source", {"sample"}},
                            {"sample_rows", "source", {"sample"}},
                            {"sample_seed", "source", {"sample"}},
                            {"uri", "source", {"postgres"}},
                            {"partitions", "source", {"postgres"}},
                            {"partition_column", "source", {"postgres"}},
                            {"datasets", "source", {"hdf5"}},
                            {"follow_external", "source", {"hdf5", "cubes"}},
                            {"arrays", "source", {"postgres", "sqlite", "hdf5"}},
                            {"refresh", "source", {"url", "postgres", "sqlite"}},
                            {"dataset_ids", "source", {"datasets"}}};
  for (const char* each : {"cube_key", "mask_path", "mask_key", "wavelengths", "processing"})
    all.push_back({each, "source", {"cubes"}});
  for (const char* each : {"url", "url_timeout", "url_max_megabytes"})
    all.push_back({each, "source", {"url"}});
  for (const char* each : {"table", "query", "columns", "where", "refresh_query"})
    all.push_back({each, "source", {"postgres", "sqlite"}});
  for (const char* each : {"format", "delimiter", "decimal", "thousands", "header", "missing_words"})
    all.push_back({each, "source", texts});
  for (const char* each : {"text_columns", "number_columns", "date_columns"})  // of a dataset its record says
    all.push_back({each, "source", {"sample", "csv", "file", "url", "postgres", "sqlite", "hdf5"}});
  return all;
}

}  // namespace

CardType data_load() {
  return {.name = "data_load",
          .version = 6,
          .title = "Load data",
          .help =
              "Reads a table from a file, a URL, a database, a built-in sample or datasets on record, or "
              "hyperspectral cubes. Column types are inferred where the source has none.",
          .inputs = {},
          .outputs = {{"dataset", PortType::table, "The rows as they were read"}},
          .file_settings = {"path", "mask_path"},
          .address_settings = {"url"},
          .passing_settings = {"uri", "partitions", "partition_column", "refresh", "refresh_query",
                               "dataset_ids"},
          .column_settings = {"text_columns", "number_columns"},
          .dataset_settings = {"dataset_ids"},
          .first_settings = {"source", "dataset_ids", "sample_name", "path", "mask_path", "url", "uri",
                             "table", "query", "sample_rows"},
          .only_with = settings_by_source(),
          .describe = described<SourceConfig>,
          .check = check_load,
          .look_outside = look_outside,
          .run = load,
          .read_as_text = read_as_text,
          .first_rows = first_rows,
          .source_name = name_of_source,
          .columns_of_source = columns_of_source,
          .cubes_of_source = cubes_of_source};
}

}  // namespace stoker::cards
