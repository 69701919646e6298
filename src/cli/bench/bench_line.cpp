#include "cli/bench/bench_line.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/view/terminal.h"

namespace stoker::cli {

nlohmann::json to_json(const BenchLine& line) {
  nlohmann::json versions = nlohmann::json::object();
  for (const auto& [name, version] : line.versions) versions[name] = version;
  return {{"workload", line.workload},
          {"batch", line.batch},
          {"engine", line.engine},
          {"device", line.device},
          {"precision", line.precision},
          {"us_per_step", line.us_per_step},
          {"spread", line.spread},
          {"processor_us_per_step", line.processor_us_per_step},
          {"processor_spread", line.processor_spread},
          {"steps_before", line.steps_before},
          {"samples_per_s", line.samples_per_s},
          {"models", line.models},
          {"peak_bytes", line.peak_bytes},
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
    line.processor_us_per_step = json.value("processor_us_per_step", 0.0);
    line.processor_spread = json.value("processor_spread", 0.0);
    line.steps_before = json.value("steps_before", std::int64_t{0});
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

namespace {

// Padded to what their columns may need, since rows are printed one by one.
const std::vector<std::string> headings{"× stoker",
                                        "µs/step   ",
                                        "spread",
                                        "× by CPU",
                                        "CPU µs    ",
                                        "CPU spread",
                                        "batch",
                                        "workload              ",
                                        "engine                               ",
                                        "device",
                                        "precision"};

std::vector<std::string> row_of(const BenchLine& line, const BenchLine& first) {
  const auto ratio = [](double one, double other) {
    return one > 0 && other > 0 ? fmt::format("{:.2f}", one / other) : std::string("–");
  };
  const bool has_processor = line.processor_us_per_step > 0;
  return {ratio(line.us_per_step, first.us_per_step),
          fmt::format("{:.2f}", line.us_per_step),
          fmt::format("{:.0f} %", 100 * line.spread),
          ratio(line.processor_us_per_step, first.processor_us_per_step),
          has_processor ? fmt::format("{:.2f}", line.processor_us_per_step) : "–",
          has_processor ? fmt::format("{:.0f} %", 100 * line.processor_spread) : "–",
          fmt::format("{}", line.batch),
          line.steps_before > 0 ? fmt::format("{} after {} steps", line.workload, line.steps_before)
                                : line.workload,
          line.engine,
          line.device,
          line.precision};
}

}  // namespace

void Comparison::show(const BenchLine& line) {
  if (is_silent_) return;
  if (as_json_) return print_data(to_json(line).dump() + "\n");
  if (firsts_.empty()) print(aligned({headings}));
  auto first = std::find_if(firsts_.begin(), firsts_.end(), [&](const BenchLine& other) {
    return other.workload == line.workload && other.batch == line.batch;
  });
  if (first == firsts_.end()) first = firsts_.insert(firsts_.end(), line);
  const std::string both = aligned({headings, row_of(line, *first)});
  print(both.substr(both.find('\n') + 1));
}

}  // namespace stoker::cli
