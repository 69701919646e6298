#include "pipeline/cache/cache.h"

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/commands/command.h"
#include "cli/flags/number_range.h"
#include "cli/process/execute.h"
#include "cli/view/terminal.h"
#include "pipeline/cache/known_sources.h"

namespace stoker::cli {
namespace {

struct CacheCommand {
  std::string out = "runs";
  double keep_gib = 0;
  bool json = false;

  std::filesystem::path folder() const { return std::filesystem::path(out) / ".cache"; }
};

constexpr double bytes_of_gib = 1073741824.0;

struct ShownEntry {
  CacheEntry entry;
  std::vector<KnownRows> sources;  // whose rows it holds, where they are known again without being read
};

std::vector<ShownEntry> shown_entries(const Cache& cache) {
  std::vector<ShownEntry> shown;
  const std::vector<KnownSources::Known> sources = KnownSources(cache.folder()).all();
  for (CacheEntry& entry : cache.entries()) {
    shown.push_back({std::move(entry), {}});
    for (const KnownSources::Known& known : sources)
      if (known.entry == shown.back().entry.identity) shown.back().sources.push_back(known.rows);
  }
  return shown;
}

std::uint64_t bytes_of(const std::vector<ShownEntry>& entries) {
  std::uint64_t bytes = 0;
  for (const ShownEntry& each : entries) bytes += each.entry.bytes;
  return bytes;
}

void show_json(const CacheCommand& command, const std::vector<ShownEntry>& entries) {
  nlohmann::json json{{"folder", command.folder().string()},
                      {"bytes", bytes_of(entries)},
                      {"limit_bytes", cache_limit()},
                      {"entries", nlohmann::json::array()}};
  for (const ShownEntry& each : entries) {
    nlohmann::json sources = nlohmann::json::array();
    for (const KnownRows& rows : each.sources)
      sources.push_back({{"name", rows.name}, {"read_at", moment_utc(rows.read_at)}});
    json["entries"].push_back({{"identity", each.entry.identity},
                               {"card", each.entry.card_type},
                               {"bytes", each.entry.bytes},
                               {"used", moment_utc(each.entry.used)},
                               {"sources", std::move(sources)}});
  }
  print_json(json);
}

ExitCode show_cache(const CacheCommand& command) {
  const Cache cache(command.folder());
  const std::vector<ShownEntry> entries = shown_entries(cache);
  if (command.json) {
    show_json(command, entries);
    return ExitCode::done;
  }
  if (entries.empty()) {
    print(fmt::format("nothing in {}\n", command.folder().string()));
    return ExitCode::done;
  }
  std::vector<std::vector<std::string>> lines{{"used last", "size", "output of", "rows of"}};
  for (const ShownEntry& each : entries) {
    std::vector<std::string> names;
    for (const KnownRows& rows : each.sources)
      names.push_back(fmt::format("{}, read {}", rows.name, moment_utc(rows.read_at)));
    lines.push_back({moment_utc(each.entry.used), human_bytes(each.entry.bytes), each.entry.card_type,
                     join(names, "; ")});
  }
  print(aligned(lines));
  print(fmt::format("\n{}: {} in {}; a run leaves at most {} (STOKER_CACHE_GIB)\n", command.folder().string(),
                    human_bytes(bytes_of(entries)), counted(entries.size(), "output"),
                    human_bytes(cache_limit())));
  return ExitCode::done;
}

ExitCode clear_cache(const CacheCommand& command) {
  Cache cache(command.folder());
  const std::vector<CacheEntry> before = cache.entries();
  if (!cache.shrink_to(static_cast<std::uint64_t>(command.keep_gib * bytes_of_gib)))
    throw Error(
        ExitCode::wrong_request,
        fmt::format("{} is in use by a run; clear it when that has finished", command.folder().string()),
        Cause::machine);
  const std::size_t after = cache.entries().size();
  print(fmt::format("removed {}, {} left in {}\n", counted(before.size() - after, "output"), after,
                    command.folder().string()));
  return ExitCode::done;
}

}  // namespace

Action declare_cache(CLI::App& app) {
  const auto command = std::make_shared<CacheCommand>();
  app.add_option("--out", command->out, "Folder of the runs, in which the cache is")->capture_default_str();
  app.add_flag("--json", command->json, "Print one JSON object");
  CLI::App* clear = app.add_subcommand("clear", "Remove what is in the cache, the longest unused first");
  clear->add_option("--out", command->out, "Folder of the runs, in which the cache is")
      ->capture_default_str();
  clear->add_option("--keep-gib", command->keep_gib, "Stop when the rest is at most this large")
      ->check(in_range(0.0, 1e6))
      ->capture_default_str();
  app.require_subcommand(0, 1);
  app.footer(
      "Outputs of cards, among them the rows of databases and URLs, are kept beside the runs, so that the\n"
      "next run need not make them again. After each run the longest unused are removed until the rest is\n"
      "within the limit: 4 GiB, or STOKER_CACHE_GIB.\n"
      "Examples:\n"
      "  stoker cache\n"
      "  stoker cache clear --keep-gib 1");
  return [command, clear] { return clear->parsed() ? clear_cache(*command) : show_cache(*command); };
}

}  // namespace stoker::cli
