#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "serve/api/preview_schema.h"
#include "serve/api/run_answers.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> types_of_files{{
    {".png", "image/png"},
    {".html", "text/html; charset=utf-8"},
    {".json", "application/json"},
    {".jsonl", "application/x-ndjson"},
    {".csv", "text/csv; charset=utf-8"},
    {".yaml", "application/yaml"},
    {".txt", "text/plain; charset=utf-8"},
    {".log", "text/plain; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".parquet", "application/vnd.apache.parquet"},
    {".arrow", "application/vnd.apache.arrow.file"},
}};

std::string type_of_file(const fs::path& file) {
  const std::string extension = file.extension().string();
  for (const auto& [ending, type] : types_of_files)
    if (extension == ending) return std::string(type);
  return "application/octet-stream";
}

// Whatever a file holds, a browser runs none of it as a page of this service. The report is drawn by a script
// of its own, which then has no access to anything: not to cookies, not to other pages, not to the network.
constexpr const char* policy_of_files =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:";
constexpr const char* policy_of_report =
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src "
    "data: blob:; frame-ancestors 'self'";

bool is_hidden(const std::string& name) {
  return name.starts_with('.');
}

// Each part of the way is a folder, the last a file, and none of them is a link.
fs::path file_in_run(const fs::path& folder, const std::string& path) {
  const auto nothing = [&] { return NotFound(fmt::format("the run has no file '{}'", printable(path))); };
  constexpr std::size_t deepest = 32;
  const std::vector<std::string> parts = split_text(path, '/');
  if (parts.size() > deepest) throw nothing();
  fs::path file = folder;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty() || is_hidden(parts[i])) throw nothing();
    file /= parts[i];
    std::error_code none;
    const fs::file_status status = fs::symlink_status(file, none);
    const bool is_last = i + 1 == parts.size();
    if (is_last ? !fs::is_regular_file(status) : !fs::is_directory(status)) throw nothing();
  }
  return file;
}

Response list_files(Service& service, Call& call) {
  constexpr std::size_t most_files = 10'000;
  const fs::path folder = run_folder_named(service, call.part("id"));
  std::vector<std::pair<std::string, std::uintmax_t>> files;
  bool are_all = true;
  std::error_code ended;
  for (fs::recursive_directory_iterator each(folder, ended), end; !ended && each != end;
       each.increment(ended)) {
    std::error_code none;
    if (is_hidden(each->path().filename().string())) {
      each.disable_recursion_pending();
    } else if (!each->is_symlink(none) && each->is_regular_file(none)) {
      are_all = files.size() < most_files;
      if (!are_all) break;
      const std::uintmax_t bytes = each->file_size(none);
      if (!none) files.emplace_back(each->path().lexically_relative(folder).string(), bytes);
    }
  }
  std::ranges::sort(files);
  json list = json::array();
  for (const auto& [path, bytes] : files)
    list.push_back({{"path", path}, {"bytes", bytes}, {"type", type_of_file(path)}});
  return json_response({{"run", call.part("id")}, {"files", std::move(list)}, {"all", are_all}});
}

Response download(Service& service, Call& call) {
  const fs::path folder = run_folder_named(service, call.part("id"));
  Response response;
  response.file = file_in_run(folder, call.part("path"));
  response.type = type_of_file(response.file);
  const bool is_report = response.file == RunPaths{folder}.report();
  response.headers.emplace_back("Content-Security-Policy", is_report ? policy_of_report : policy_of_files);
  if (is_report) response.headers.emplace_back("X-Frame-Options", "SAMEORIGIN");
  return response;
}

bool is_plain_name(const std::string& name) {
  return std::ranges::all_of(name,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

Response show_preview(Service& service, Call& call) {
  const fs::path folder = run_folder_named(service, call.part("id"));
  const std::string& card = call.part("card");
  const std::string& output = call.part("output");
  if (!is_plain_name(card) || !is_plain_name(output)) throw NotFound("there is no such preview");
  constexpr std::size_t largest_preview = std::size_t{64} << 20;
  Response response;
  response.body =
      read_file(file_in_run(folder, fmt::format("previews/{}.{}.json", card, output)), largest_preview);
  return response;
}

}  // namespace

std::vector<Route> run_file_routes(Service& service) {
  const std::string base = "/api/runs/{id}";
  const auto with = [&service](Response (*what)(Service&, Call&)) {
    return [&service, what](Call& call) { return what(service, call); };
  };
  return {
      {"GET",
       base + "/files",
       "listRunFiles",
       "List the files of a run",
       Access::viewer,
       with(list_files),
       {},
       nullptr,
       {},
       {{200, "Files with their sizes"}, {404, "There is none"}}},
      {"GET",
       base + "/files/{path*}",
       "runFile",
       "Download a file of a run: its report, a picture, its model",
       Access::viewer,
       with(download),
       {},
       nullptr,
       {},
       {{200, "The file", {{"type", "string"}}, "*/*"}, {404, "There is none"}}},
      {"GET",
       base + "/previews/{card}/{output}",
       "runPreview",
       "The first rows of a table that a card has put out, and how the values of each column are distributed "
       "over all of its rows",
       Access::viewer,
       with(show_preview),
       {},
       nullptr,
       {},
       {{200,
         "Rows, columns and their types; of a card of a training step its numbers",
         {{"anyOf", nlohmann::json::array({schema::preview(), schema::step_part()})}}},
        {404, "There is none"}}},
  };
}

}  // namespace stoker::serve
