#include "cli/bench_line.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/terminal.h"

namespace stoker::cli {

nlohmann::json to_json(const BenchLine& line) {
  nlohmann::json versions = nlohmann::json::object();
  for (const auto& [name, version] : line.versions) versions[name] = version;
  return {{"workload", line.workload},      {"batch", line.batch},
          {"engine", line.engine},          {"device", line.device},
          {"precision", line.precision},    {"us_per_step", line.us_per_step},
          {"spread", line.spread},          {"samples_per_s", line.samples_per_s},
          {"models", line.models},          {"peak_bytes", line.peak_bytes},
          {"versions", std::move(versions)}};
}

bool read_bench_line(const std::string& text, BenchLine& line) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("workload") || !json.contains("us_per_step")) return false;
  try {
    line.workload = json.at("workload").get<std::string>();
    line.batch = json.value("batch", std::int64_t{0});
    line.engine = json.value("engine", std::string("peer"));
    line.device = json.value("device", std::string("cpu"));
    line.precision = json.value("precision", std::string());
    line.us_per_step = json.at("us_per_step").get<double>();
    line.spread = json.value("spread", 0.0);
    line.samples_per_s = json.value("samples_per_s", 0.0);
    line.models = json.value("models", std::int64_t{1});
    line.peak_bytes = json.value("peak_bytes", std::uint64_t{0});
    const nlohmann::json versions = json.value("versions", nlohmann::json::object());
    for (const auto& [name, version] : versions.items()) {
      line.versions.emplace_back(name, version.is_string() ? version.get<std::string>() : version.dump());
    }
    return line.us_per_step > 0;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

std::string comparison(const std::vector<BenchLine>& own, const std::vector<BenchLine>& peers) {
  std::vector<std::vector<std::string>> rows{
      {"× stoker", "µs/step", "spread", "batch", "workload", "engine", "device", "precision"}};
  const auto add = [&rows](const BenchLine& line, const std::string& ratio) {
    rows.push_back({ratio, fmt::format("{:.2f}", line.us_per_step),
                    fmt::format("{:.0f} %", 100 * line.spread), fmt::format("{}", line.batch), line.workload,
                    line.engine, line.device, line.precision});
  };
  const auto is_alike = [](const BenchLine& one, const BenchLine& other) {
    return one.workload == other.workload && one.batch == other.batch;
  };
  // Several engines on the same work are compared with the first of them.
  for (std::size_t i = 0; i < own.size(); ++i) {
    const BenchLine& first =
        *std::find_if(own.begin(), own.end(), [&](const BenchLine& line) { return is_alike(line, own[i]); });
    add(own[i], fmt::format("{:.2f}", own[i].us_per_step / first.us_per_step));
    if (i + 1 < own.size() && is_alike(own[i], own[i + 1])) continue;
    for (const BenchLine& peer : peers)
      if (is_alike(peer, first)) add(peer, fmt::format("{:.2f}", peer.us_per_step / first.us_per_step));
  }
  return aligned(rows);
}

}  // namespace stoker::cli
