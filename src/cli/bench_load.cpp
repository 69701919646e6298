#include <fmt/format.h>

#include "base/files.h"
#include "cli/bench.h"
#include "cli/measure.h"
#include "cli/terminal.h"
#include "data/preparation.h"
#include "data/samples.h"
#include "data/source.h"
#include "device/device.h"

namespace stoker::cli {
namespace {

namespace fs = std::filesystem;

// From the file to an array of 32-bit floats where the engine reads it.
BenchLine measure_load(const fs::path& file, const LoadOptions& options, Device device) {
  const SourceConfig config = Source::config_for(file.string());
  PreparationConfig wanted;
  wanted.target_column = "c0";
  wanted.task = TaskChoice::regression;
  wanted.scale_target = false;
  const Preparation preparation =
      Preparation::fit(Source::open(config, ".").read(), wanted, Scaling::none, no_notes());
  const Measured measured = measure(
      [&](std::int64_t loads) {
        for (std::int64_t i = 0; i < loads; ++i) {
          const Dataset dataset = preparation.apply(Source::open(config, ".").read(), DType::float32, true);
          place(dataset, device, no_notes());
        }
      },
      options.seconds);
  BenchLine line;
  line.workload = "load " + file.extension().string().substr(1);
  line.batch = options.rows;
  line.engine = "stoker";
  line.device = device.name();
  line.precision = "fp32";
  line.us_per_step = 1e6 * measured.seconds_per_unit;
  line.spread = measured.spread;
  line.processor_us_per_step = 1e6 * measured.processor_seconds_per_unit;
  line.processor_spread = measured.processor_spread;
  line.samples_per_s = static_cast<double>(options.rows) / measured.seconds_per_unit;
  line.peak_bytes = peak_memory_bytes();
  line.versions = {{"stoker", STOKER_VERSION}};
  return line;
}

}  // namespace

void bench_load(const LoadOptions& options) {
  const Device device = choose_device(options.device, [](Severity, const std::string& said) { tell(said); });
  const TemporaryFolder folder;
  Comparison comparison(options.json);
  for (const std::string& format : options.formats) {
    const fs::path file = folder.path() / ("rows." + format);
    write_table(make_numbers(options.rows, options.columns), file);
    const BenchLine line = measure_load(file, options, device);
    comparison.show(line);
    if (!options.json)
      print(fmt::format("  {:.2f} million rows and {:.2f} GB of tensor a second\n", line.samples_per_s / 1e6,
                        line.samples_per_s * static_cast<double>(options.columns) * sizeof(float) / 1e9));
    if (options.peers)
      run_peers("load_files",
                {"--file", file.string(), "--device", device.is_cuda() ? "cuda" : "cpu", "--seconds",
                 fmt::format("{}", options.seconds)},
                comparison);
  }
}

}  // namespace stoker::cli
