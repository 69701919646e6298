#include "train/choose/recorded_figures.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/user_cache.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "device/device.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Raised when the file has another form, or engines another speed.
constexpr int figures_version = 3;
constexpr std::size_t most_figures_bytes = 1 << 20;
// What is faster by less may be so by chance.
constexpr double clearly = 0.9;

std::optional<fs::path> figures_file(const std::string& key) {
  const std::optional<fs::path> folder = user_cache("figures");
  return folder ? std::optional(*folder / (key + ".json")) : std::nullopt;
}

bool is_time(double seconds) {
  return std::isfinite(seconds) && seconds >= 0;
}

// Throws what json throws where it is something else.
std::vector<StepFigures> figures_in(const json& told) {
  std::vector<StepFigures> figures;
  if (told.at("version").get<int>() != figures_version) return {};
  for (const json& each : told.at("figures")) {
    StepFigures figure{each.at("device").get<std::string>(), each.at("model").get<std::string>(),
                       each.at("engine").get<std::string>(), each.at("step_seconds").get<double>(),
                       each.at("ready_seconds").get<double>()};
    if (!is_time(figure.step_seconds) || figure.step_seconds == 0 || !is_time(figure.ready_seconds))
      return {};
    figures.push_back(std::move(figure));
  }
  return figures;
}

// A cache that cannot be read is no cache.
std::vector<StepFigures> kept_figures(const std::string& key) {
  const std::optional<fs::path> file = figures_file(key);
  std::error_code ignored;
  if (!file || !fs::exists(*file, ignored)) return {};
  try {
    return figures_in(json::parse(read_file(*file, most_figures_bytes)));
  } catch (const Error&) {
    return {};
  } catch (const json::exception&) {
    return {};
  }
}

double seconds_for(const StepFigures& figures, std::int64_t steps) {
  return figures.ready_seconds + static_cast<double>(steps) * figures.step_seconds;
}

const StepFigures* fastest_on(const std::string& device, std::span<const StepFigures> figures,
                              std::int64_t steps) {
  const StepFigures* best = nullptr;
  for (const StepFigures& each : figures)
    if (each.device == device && (best == nullptr || seconds_for(each, steps) < seconds_for(*best, steps)))
      best = &each;
  return best;
}

// False where nothing is known of one of them.
bool is_clearly_faster(const StepFigures* one, const StepFigures* other, std::int64_t steps) {
  return one != nullptr && other != nullptr &&
         seconds_for(*one, steps) < clearly * seconds_for(*other, steps);
}

}  // namespace

std::string figures_key(const EngineRequest& request) {
  const json told = {{"network", to_json(request.network)},
                     {"batch_size", request.batch_size},
                     {"accumulation_steps", request.accumulation_steps},
                     {"precision", config::name_of(request.precision)},
                     {"optimizer", config::name_of(request.optimizer.kind)},
                     {"clips", request.optimizer.max_grad_norm > 0},
                     {"averages", request.weight_average > 0},
                     {"is_deterministic", request.is_deterministic}};
  return sha256_of_text(told.dump());
}

void record_figures(const std::string& key, std::span<const StepFigures> figures) {
  const std::optional<fs::path> file = figures_file(key);
  if (!file || figures.empty()) return;
  std::vector<StepFigures> all = kept_figures(key);
  std::erase_if(all, [&](const StepFigures& kept) {
    return std::ranges::any_of(figures, [&](const StepFigures& each) { return each.device == kept.device; });
  });
  all.insert(all.end(), figures.begin(), figures.end());
  json list = json::array();
  for (const StepFigures& each : all)
    list.push_back({{"device", each.device},
                    {"model", each.model},
                    {"engine", each.engine},
                    {"step_seconds", each.step_seconds},
                    {"ready_seconds", each.ready_seconds}});
  try {
    make_folder(file->parent_path());
    write_file(*file, json{{"version", figures_version}, {"figures", list}}.dump(1) + "\n");
  } catch (const Error&) {
    // Nor is one that cannot be written.
  }
}

std::vector<StepFigures> recorded_figures(const std::string& key, bool with_gpus) {
  std::vector<StepFigures> figures = kept_figures(key);
  if (figures.empty()) return figures;
  DeviceInfo cpu;
  cpu.model = cpu_model();
  const std::vector<DeviceInfo> here = with_gpus ? list_devices().devices : std::vector{cpu};
  std::erase_if(figures, [&](const StepFigures& each) {
    return std::ranges::none_of(here, [&](const DeviceInfo& info) {
      return info.device.name() == each.device && info.model == each.model;
    });
  });
  return figures;
}

std::optional<double> known_seconds(Device device, std::span<const StepFigures> figures, std::int64_t steps) {
  const StepFigures* best = fastest_on(device.name(), figures, steps);
  return best == nullptr ? std::nullopt : std::optional(seconds_for(*best, steps));
}

Device device_by_figures(Device automatic, std::span<const StepFigures> figures, std::int64_t steps,
                         const Notes& notes) {
  const StepFigures* gpu = automatic.is_cuda() ? fastest_on(automatic.name(), figures, steps) : nullptr;
  const StepFigures* cpu = fastest_on(Device::cpu().name(), figures, steps);
  if (!is_clearly_faster(cpu, gpu, steps)) return automatic;
  notes(Severity::info,
        fmt::format(
            "training on the CPU, although there is {}: as measured on this machine, this training takes "
            "{} here and {} there",
            gpu->model, human_seconds(seconds_for(*cpu, steps)), human_seconds(seconds_for(*gpu, steps))));
  return Device::cpu();
}

GpuByFigures gpu_by_figures(Device gpu, std::span<const StepFigures> figures, std::int64_t steps) {
  const StepFigures* there = fastest_on(gpu.name(), figures, steps);
  const StepFigures* cpu = fastest_on(Device::cpu().name(), figures, steps);
  if (there == nullptr || cpu == nullptr) return {};
  return {is_clearly_faster(there, cpu, steps),
          fmt::format("as measured on this machine, this training takes {} there and {} on the CPU",
                      human_seconds(seconds_for(*there, steps)), human_seconds(seconds_for(*cpu, steps)))};
}

std::optional<FasterEngine> engine_by_figures(Device device, std::string_view automatic,
                                              std::span<const StepFigures> figures, std::int64_t steps) {
  const StepFigures* best = fastest_on(device.name(), figures, steps);
  const auto own = std::ranges::find_if(figures, [&](const StepFigures& each) {
    return each.device == device.name() && each.engine == automatic;
  });
  if (best == nullptr || own == figures.end() ||
      seconds_for(*best, steps) >= clearly * seconds_for(*own, steps))
    return std::nullopt;
  return FasterEngine{
      best->engine,
      fmt::format("engine {}: as measured on this machine, it takes {} for this training, and {} {}",
                  best->engine, human_seconds(seconds_for(*best, steps)), automatic,
                  human_seconds(seconds_for(*own, steps)))};
}

}  // namespace stoker
