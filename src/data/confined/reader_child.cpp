#include "data/confined/reader_child.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/process/child_dialogue.h"
#include "base/process/confinement.h"
#include "base/text/hidden_values.h"
#include "base/text/text.h"
#include "config/field.h"
#include "config/json_text.h"
#include "data/cubes/cube_archive.h"
#include "data/source/source_reader.h"
#include "data/source/source_table.h"
#include "data/url/download.h"
#include "data/url/kept_downloads.h"
#include "data/url/url_secrets.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t most_bytes_of_request = std::size_t{16} << 20U;

// The order comes from the parent, which has written it with config::write().
SourceConfig config_in(const json& request) {
  config::Diagnostics diagnostics("request");
  auto config = config::read<SourceConfig>(config::from_json(request.at("config")), "config", diagnostics);
  diagnostics.refuse_if_any();
  return config;
}

std::vector<fs::path> paths_in(const json& list) {
  std::vector<fs::path> paths;
  for (const json& each : list) paths.emplace_back(each.get<std::string>());
  return paths;
}

// A file that is somebody's own: messages call it by its address, not by where it was put.
std::shared_ptr<const void> kept_by_the_parent() {
  return std::make_shared<const bool>(true);
}

json left_out_json(const UnreadRows& rows) {
  json first = json::array();
  for (const UnreadRows::Row& each : rows.first) first.push_back({each.line, printable(each.problem)});
  return {{"count", rows.count}, {"first", std::move(first)}, {"cut", printable(rows.cut)}};
}

class ReaderChild {
 public:
  explicit ReaderChild(const ReaderRequests& more) : more_(more) {}
  json answer(const json& request);

 private:
  json opened(const json& request);
  json read(const json& request);
  json first_rows(const json& request);
  json whole_rows(const json& request);
  static json fetched(const json& request);
  json called_as_people_do(const std::function<json()>& read) const;
  fs::path file_for(const char* name) const { return scratch_ / name; }

  const ReaderRequests& more_;
  fs::path scratch_;
  KeptDownloads downloads_;
  OpenedSource source_;
};

json ReaderChild::opened(const json& request) {
  const SourceConfig config = config_in(request);
  if (request.contains("fetched"))
    KeptDownloads::keep(expanded_url(config.url),
                        {request.at("fetched").get<std::string>(), kept_by_the_parent()});
  source_ = source_of(config).open(config, request.at("base").get<std::string>(), nullptr);
  json facts{{"description", source_->description()},
             {"bytes", source_->bytes()},
             {"infers_types", source_->infers_types()},
             {"may_lose_digits", source_->may_lose_digits()},
             {"warnings", source_->warnings()}};
  if (const std::optional<RowCount> count = source_->row_count()) {
    facts["rows"] = count->rows;
    if (count->first_test_row) facts["first_test_row"] = *count->first_test_row;
  }
  return facts;
}

// The parent knows no more how its source is called than what the messages say.
json ReaderChild::called_as_people_do(const std::function<json()>& read) const {
  try {
    return throwing_errors(read);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    throw Error(error.code(), source_->renamed(error.what()), error.cause());
  }
}

json ReaderChild::read(const json& request) {
  json told = json::array();
  const Notes keep = [&](Severity severity, const std::string& message) {
    told.push_back({severity == Severity::warning, message});
  };
  write_arrow(source_->read(request.at("texts").get<std::vector<std::string>>(), keep),
              file_for(name_of_rows));
  return {{"notes", std::move(told)}};
}

json ReaderChild::first_rows(const json& request) {
  const auto rows = source_->first_rows(request.at("texts").get<std::vector<std::string>>());
  if (rows) write_arrow(*rows, file_for(name_of_rows));
  return {{"has_rows", rows.has_value()}};
}

json ReaderChild::whole_rows(const json& request) {
  const auto rows = source_->whole_rows(request.at("texts").get<std::vector<std::string>>());
  if (!rows) return {{"has_rows", false}};
  write_arrow(rows->table, file_for(name_of_rows));
  return {{"has_rows", true}, {"left_out", left_out_json(rows->left_out)}};
}

json ReaderChild::fetched(const json& request) {
  const SourceConfig config = config_in(request);
  const std::string address = expanded_url(config.url);
  const std::string name = file_name_of_url(address, shown_url(config.url));
  const fs::path file =
      fs::path(request.at("scratch").get<std::string>()) / (name.empty() ? "download" : name);
  constexpr double bytes_of_megabyte = 1e6;
  constexpr double most_megabytes = 1e9;
  download(address, shown_url(config.url), file,
           {config.url_timeout, static_cast<std::uint64_t>(
                                    std::min(config.url_max_megabytes, most_megabytes) * bytes_of_megabyte)});
  return {{"file", file.string()}};
}

json ReaderChild::answer(const json& request) {
  const auto wanted = request.at("do").get<std::string>();
  if (wanted == "confine") {
    scratch_ = request.at("scratch").get<std::string>();
    confine_process({paths_in(request.at("readable")), paths_in(request.at("writable")),
                     request.at("may_connect"), request.at("memory_bytes"), request.at("file_bytes")});
    end_with_dialogue();
    return nullptr;
  }
  if (wanted == "open") return opened(request);
  if (wanted == "fetch") return fetched(request);
  if (wanted == "fingerprint") return source_->fingerprint();
  if (wanted == "read") return called_as_people_do([&] { return read(request); });
  if (wanted == "first_rows") return called_as_people_do([&] { return first_rows(request); });
  if (wanted == "whole_rows") return called_as_people_do([&] { return whole_rows(request); });
  if (wanted == "answer") {
    const SourceConfig config = config_in(request);
    return source_of(config).answer(config, request.at("base").get<std::string>(), nullptr);
  }
  if (wanted == "kind") return kind_of_file(request.at("file").get<std::string>());
  if (const auto added = more_.find(wanted); added != more_.end()) return added->second(request);
  const fs::path archive = request.at("file").get<std::string>();
  const auto shown = request.at("shown").get<std::string>();
  if (wanted == "is_cube_archive") return is_cube_archive(archive, shown);
  if (wanted == "has_arrays_alone") return has_arrays_alone(archive, shown);
  if (wanted == "unpack_cubes")
    return unpack_cubes(archive, shown, request.at("to").get<std::string>(), request.at("most_bytes"));
  fail("a reader cannot {}", wanted);
}

json problem(const Error& error) {
  return {{"problem", error.what()},
          {"code", static_cast<int>(error.code())},
          {"is_of_machine", error.cause() == Cause::machine},
          {"is_of_memory", dynamic_cast<const OutOfMemory*>(&error) != nullptr}};
}

}  // namespace

ExitCode serve_as_reader_child(const ReaderRequests& more) {
  ReaderChild child(more);
  std::string unread;
  while (const auto line = hear_line(dialogue_descriptor, unread, most_bytes_of_request)) {
    json said;
    try {
      said = {{"answer", throwing_errors([&] { return child.answer(json::parse(*line)); })}};
    } catch (const Error& error) {
      said = problem(error);
    }
    if (!say_line(dialogue_descriptor, json_without_hidden_values(config::json_text(said)))) break;
  }
  return ExitCode::done;
}

}  // namespace stoker
