#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "serve/jobs/job_events.h"
#include "serve/service.h"

namespace stoker::serve {
namespace {

void add_figure(std::string& text, const char* name, const char* type, const char* help, double value) {
  text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n{0} {3}\n", name, type, help, value);
}

void add_jobs(std::string& text, Service& service) {
  std::map<JobState, std::int64_t> counts;
  for (const auto& [state, count] : service.jobs().counts()) counts[state] = count;
  text += "# HELP stoker_jobs Jobs on record by their state.\n# TYPE stoker_jobs gauge\n";
  for (std::size_t i = 0; i < config::names<JobState>.size(); ++i)
    text += fmt::format("stoker_jobs{{state=\"{}\"}} {}\n", config::names<JobState>[i],
                        counts[static_cast<JobState>(i)]);
  std::array<int, 2> slots{};
  for (const Slot& slot : service.queue().slots()) ++slots.at(slot.is_gpu ? 1 : 0);
  text += fmt::format(
      "# HELP stoker_slots Room for jobs.\n# TYPE stoker_slots gauge\n"
      "stoker_slots{{device=\"cpu\"}} {}\nstoker_slots{{device=\"gpu\"}} {}\n",
      slots[0], slots[1]);
  add_figure(text, "stoker_slots_in_use", "gauge", "Jobs that run.",
             static_cast<double>(service.queue().running()));
}

void add_process(std::string& text) {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  double resident = 0;
  file >> pages >> resident;
  add_figure(text, "process_resident_memory_bytes", "gauge", "Memory of the service itself, without jobs.",
             resident * static_cast<double>(sysconf(_SC_PAGESIZE)));
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  add_figure(text, "process_cpu_seconds_total", "counter", "Processor time of the service itself.",
             seconds(used.ru_utime) + seconds(used.ru_stime));
  std::error_code none;
  const std::filesystem::directory_iterator open("/proc/self/fd", none);
  add_figure(text, "process_open_fds", "gauge", "Descriptors that are open.",
             static_cast<double>(std::distance(open, std::filesystem::directory_iterator())));
}

void add_gpus(std::string& text, Service& service) {
  const nlohmann::json gauges = service.gauges().now();
  const nlohmann::json& gpus = gauges.at("gpus");
  if (gpus.empty()) return;
  std::string busy =
      "# HELP stoker_gpu_busy_ratio Share of the last while with something to do.\n"
      "# TYPE stoker_gpu_busy_ratio gauge\n";
  std::string memory =
      "# HELP stoker_gpu_memory_used_bytes By all processes.\n"
      "# TYPE stoker_gpu_memory_used_bytes gauge\n";
  std::string power = "# HELP stoker_gpu_power_watts Power drawn.\n# TYPE stoker_gpu_power_watts gauge\n";
  for (const nlohmann::json& gpu : gpus) {
    const std::size_t number = gpu.at("gpu");
    busy += fmt::format("stoker_gpu_busy_ratio{{gpu=\"{}\"}} {}\n", number, gpu.at("busy").get<double>());
    memory += fmt::format("stoker_gpu_memory_used_bytes{{gpu=\"{}\"}} {}\n", number,
                          gpu.at("used_bytes").get<std::uint64_t>());
    power += fmt::format("stoker_gpu_power_watts{{gpu=\"{}\"}} {}\n", number, gpu.at("watts").get<double>());
  }
  text += busy + memory + power;
}

}  // namespace

std::string metrics_text(Service& service) {
  std::string text = fmt::format(
      "# HELP stoker_build_info The version that runs.\n# TYPE stoker_build_info gauge\n"
      "stoker_build_info{{version=\"{}\"}} 1\n",
      STOKER_VERSION);
  add_jobs(text, service);
  add_figure(text, "stoker_http_connections", "gauge", "Connections that are open.",
             static_cast<double>(service.connections()));
  add_figure(text, "stoker_event_listeners", "gauge", "Who listens to the events of a job.",
             static_cast<double>(JobEvents::listeners()));
  text += service.figures().text();
  add_process(text);
  add_gpus(text, service);
  return text;
}

}  // namespace stoker::serve
