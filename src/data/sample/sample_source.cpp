#include <algorithm>

#include <fmt/core.h>

#include "base/hash.h"
#include "data/sample/samples.h"
#include "data/source/source_reader.h"

namespace stoker {
namespace {

std::string sample_title(const SourceConfig& config) {
  return fmt::format("sample {}", config::name_of(config.sample_name));
}

class SampleReader : public SourceReader {
 public:
  explicit SampleReader(const SourceConfig& config)
      : name_(config.sample_name),
        rows_(config.sample_rows.value_or(usual_rows(config.sample_name))),
        seed_(config.sample_seed),
        description_(sample_title(config)) {}

  std::string fingerprint() const override {
    return sha256_of_text(fmt::format("{} {} {} version {}", description_, rows_, seed_, samples_version));
  }
  const std::string& description() const override { return description_; }
  Table read(const std::vector<std::string>&, const Notes&) const override {
    return make_sample(name_, rows_, seed_);
  }
  // Of those that have no texts, a few rows show all that there is to their columns.
  std::optional<RowCount> row_count() const override {
    if (name_ == SampleName::smc_windows || name_ == SampleName::uhf_mixed) return std::nullopt;
    return RowCount{rows_, first_test_row(name_, rows_)};
  }
  std::optional<Table> first_rows(const std::vector<std::string>&) const override {
    const std::int64_t enough = name_ == SampleName::spectral_stress ? 2 : 1000;
    return make_sample(name_, std::min(enough, rows_), seed_);
  }

 private:
  SampleName name_;
  std::int64_t rows_;
  std::uint64_t seed_;
  std::string description_;
};

OpenedSource open_sample(const SourceConfig& config, const std::filesystem::path&, const StopSignal*) {
  return std::make_unique<SampleReader>(config);
}

}  // namespace

SourceOfKind sample_source() {
  return {SourceKind::sample, open_sample, [](const SourceConfig&, SourceProblems&) {}, sample_title};
}

}  // namespace stoker
