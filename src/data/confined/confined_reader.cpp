#include "data/confined/confined_reader.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/hidden_values.h"
#include "config/field.h"
#include "config/json_text.h"
#include "data/confined/reader_child.h"
#include "data/confined/reader_process.h"
#include "data/cubes/cubes.h"
#include "data/source/source_table.h"
#include "data/source/standard_input.h"
#include "data/url/kept_downloads.h"
#include "data/url/url_secrets.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json order_of(const char* wanted, const SourceConfig& config, const fs::path& base) {
  return {{"do", wanted},
          {"config", config::to_json(config::write(config))},
          {"base", fs::absolute(base).string()}};
}

// In a child of its own: it meets the network, and reads nothing of what it fetches.
Downloaded fetched(const SourceConfig& config, const StopSignal* stop) {
  const std::string address = expanded_url(config.url);
  if (const std::optional<Downloaded> kept = KeptDownloads::find(address)) return *kept;
  const auto process =
      std::make_shared<ReaderProcess>(shown_url(config.url), config, Reach{.may_connect = true});
  json order = order_of("fetch", config, "/");
  order["scratch"] = process->scratch().string();
  const json answer = process->ask(order, stop);
  process->end();
  const fs::path file = process->scratch() / fs::path(answer.at("file").get<std::string>()).filename();
  const Downloaded downloaded{file, process};
  KeptDownloads::keep(address, downloaded);
  return downloaded;
}

// A child that has opened a source, and what it found.
struct OpenedInChild {
  ReaderProcess process;
  json facts;

  OpenedInChild(const SourceConfig& config, const fs::path& base, const std::optional<Downloaded>& download,
                const StopSignal* stop)
      : process(shown_name(config), config, reach_of(config, base, download)) {
    json order = order_of("open", config, base);
    if (download) order["fetched"] = download->file.string();
    facts = process.ask(order, stop);
  }

  static std::string shown_name(const SourceConfig& config) {
    return config.source == SourceKind::url ? shown_url(config.url) : source_of(config).name(config);
  }
  static Reach reach_of(const SourceConfig& config, const fs::path& base,
                        const std::optional<Downloaded>& download) {
    if (config.source == SourceKind::postgres) return {.may_connect = true};
    return {.readable = download ? std::vector<fs::path>{download->file} : files_of_source(config, base)};
  }
};

class ConfinedReader : public SourceReader {
 public:
  ConfinedReader(SourceConfig config, fs::path base, const StopSignal* stop);

  std::string fingerprint() const override;
  const std::string& description() const override { return description_; }
  Table read(const std::vector<std::string>& text_columns, const Notes& notes) const override;
  std::optional<WholeRows> whole_rows(const std::vector<std::string>& text_columns) const override;
  std::optional<Table> first_rows(const std::vector<std::string>& text_columns) const override;
  std::optional<RowCount> row_count() const override;
  std::uintmax_t bytes() const override { return facts_.at("bytes"); }
  bool infers_types() const override { return facts_.at("infers_types"); }
  bool may_lose_digits() const override { return facts_.at("may_lose_digits"); }
  std::vector<std::string> warnings() const override { return facts_.at("warnings"); }
  void leave_rows() const override;

 private:
  // Rows of a database are asked for once, as long as the child that has them lives.
  std::string key() const { return config::json_text(order_of("open", config_, base_)); }
  OpenedInChild& opened() const;
  json asked_for_rows(const char* wanted, const std::vector<std::string>& text_columns) const;
  Table handed_over() const;

  SourceConfig config_;
  fs::path base_;
  std::optional<Downloaded> download_;
  mutable std::recursive_mutex mutex_;
  mutable std::shared_ptr<OpenedInChild> opened_;
  mutable std::string fingerprint_;
  json facts_;
  std::string description_;
};

ConfinedReader::ConfinedReader(SourceConfig config, fs::path base, const StopSignal* stop)
    : config_(std::move(config)), base_(std::move(base)) {
  if (config_.follow_external)
    refuse("follow_external cannot be used here: a file is read where no other file can be reached");
  if (config_.source == SourceKind::url) download_ = fetched(config_, stop);
  opened_ =
      std::static_pointer_cast<OpenedInChild>(std::const_pointer_cast<void>(KeptDownloads::take_rows(key())));
  if (opened_ == nullptr) opened_ = std::make_shared<OpenedInChild>(config_, base_, download_, stop);
  facts_ = opened_->facts;
  description_ = facts_.at("description");
}

OpenedInChild& ConfinedReader::opened() const {
  if (opened_ == nullptr) opened_ = std::make_shared<OpenedInChild>(config_, base_, download_, nullptr);
  return *opened_;
}

std::string ConfinedReader::fingerprint() const {
  const std::lock_guard lock(mutex_);
  if (fingerprint_.empty()) fingerprint_ = opened().process.ask({{"do", "fingerprint"}});
  return fingerprint_;
}

std::optional<RowCount> ConfinedReader::row_count() const {
  if (!facts_.contains("rows")) return std::nullopt;
  RowCount count{.rows = facts_.at("rows")};
  if (facts_.contains("first_test_row")) count.first_test_row = facts_.at("first_test_row");
  return count;
}

void ConfinedReader::leave_rows() const {
  const std::lock_guard lock(mutex_);
  if (opened_ != nullptr) KeptDownloads::keep_rows(key(), opened_);
}

json ConfinedReader::asked_for_rows(const char* wanted, const std::vector<std::string>& text_columns) const {
  return opened().process.ask({{"do", wanted}, {"texts", text_columns}});
}

// The columns are checked and copied while they are read. The numbers of cubes are mapped instead, so nobody
// may be left who could change them.
Table ConfinedReader::handed_over() const {
  const fs::path file = opened().process.scratch() / name_of_rows;
  if (config_.source == SourceKind::cubes) opened().process.end();
  Table table = read_arrow(file);
  if (table.cubes != nullptr) {
    auto cubes = std::make_shared<Cubes>(*table.cubes);
    cubes->values_file.clear();
    cubes->masks_file.clear();
    table.cubes = std::move(cubes);
    opened_ = nullptr;
  }
  std::error_code ignored;
  fs::remove(file, ignored);
  // A server may repeat what it was sent. Names of columns would be in every record of the dataset.
  for (const std::string& name : table.column_names())
    if (without_hidden_values(name) != name)
      refuse("'{}' names a column by the value of a variable, which nobody may see", description_);
  return table;
}

Table ConfinedReader::read(const std::vector<std::string>& text_columns, const Notes& notes) const {
  const std::lock_guard lock(mutex_);
  const json answer = asked_for_rows("read", text_columns);
  for (const json& each : answer.at("notes"))
    notes(each.at(0) ? Severity::warning : Severity::info, each.at(1));
  return handed_over();
}

std::optional<Table> ConfinedReader::first_rows(const std::vector<std::string>& text_columns) const {
  const std::lock_guard lock(mutex_);
  if (!asked_for_rows("first_rows", text_columns).at("has_rows")) return std::nullopt;
  return handed_over();
}

std::optional<WholeRows> ConfinedReader::whole_rows(const std::vector<std::string>& text_columns) const {
  const std::lock_guard lock(mutex_);
  const json answer = asked_for_rows("whole_rows", text_columns);
  if (!answer.at("has_rows")) return std::nullopt;
  const json& told = answer.at("left_out");
  WholeRows rows;
  rows.left_out.count = told.at("count");
  rows.left_out.cut = told.at("cut");
  for (const json& each : told.at("first")) rows.left_out.first.push_back({each.at(0), each.at(1)});
  rows.table = handed_over();
  return rows;
}

// No request may hold a worker of the service for ever.
constexpr double longest_look = 300;  // seconds

}  // namespace

json ask_confined(const fs::path& file, const std::string& shown, json order,
                  std::vector<fs::path> writable) {
  ReaderProcess process(shown, {}, {{fs::absolute(file)}, std::move(writable), false});
  order["file"] = fs::absolute(file).string();
  order["shown"] = shown;
  StopSignal limit;
  limit.stop_after(longest_look);
  try {
    return process.ask(order, &limit);
  } catch (const Error& error) {
    if (error.code() != ExitCode::interrupted) throw;
    refuse("'{}' takes longer than {} s to read", shown, longest_look);
  }
}

bool confines_readers() {
  const char* const folder = folder_of_confined_readers();
  return folder != nullptr && *folder != '\0';
}

bool is_read_confined(const SourceConfig& config) {
  return confines_readers() && config.source != SourceKind::sample && config.source != SourceKind::datasets &&
         config.path != standard_input_path;
}

OpenedSource open_confined(const SourceConfig& config, const fs::path& base, const StopSignal* stop) {
  return std::make_unique<ConfinedReader>(config, base, stop);
}

std::string answer_confined(const SourceConfig& config, const fs::path& base, const StopSignal* stop) {
  ReaderProcess process(OpenedInChild::shown_name(config), config,
                        OpenedInChild::reach_of(config, base, std::nullopt));
  return process.ask(order_of("answer", config, base), stop);
}

SourceKind kind_of_file_confined(const fs::path& file) {
  const int kind = ask_confined(file, file.string(), {{"do", "kind"}}, {});
  if (kind < 0 || kind >= std::ssize(config::names<SourceKind>))
    fail("'{}' is of no known kind", file.string());
  return static_cast<SourceKind>(kind);
}

bool is_cube_archive_confined(const fs::path& archive, const std::string& shown) {
  return ask_confined(archive, shown, {{"do", "is_cube_archive"}}, {});
}

bool has_arrays_alone_confined(const fs::path& archive, const std::string& shown) {
  return ask_confined(archive, shown, {{"do", "has_arrays_alone"}}, {});
}

std::string unpack_cubes_confined(const fs::path& archive, const std::string& shown, const fs::path& folder,
                                  std::uint64_t most_bytes) {
  const fs::path target = fs::absolute(folder);
  return ask_confined(archive, shown,
                      {{"do", "unpack_cubes"}, {"to", target.string()}, {"most_bytes", most_bytes}},
                      {target});
}

}  // namespace stoker
