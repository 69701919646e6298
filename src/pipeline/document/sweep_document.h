#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/document/document.h"
#include "pipeline/run/space.h"
#include "train/fit/spec.h"

namespace stoker {

// A pipeline of which some settings are searched. One without any is a single candidate, which k folds
// cross-validate.
struct SweepDocument {
  Document base;  // with one value of each searched setting
  SweepConfig config;
  std::vector<SearchedSetting> space;
  std::string train_card;  // the one that trains
  config::Value value;     // what base was read from
  std::string file_name;

  std::int64_t candidate_count() const;
  // The pipeline of one candidate: a value per searched setting. Refuses values that contradict each other.
  Document with(const std::vector<config::Value>& values) const;
  // The model of one candidate, without the rest of its pipeline. None where the settings of a card do not
  // say it alone; refuses as with() does.
  std::optional<ModelSpec> spec_with(const std::vector<config::Value>& values) const;
  // Space included, every default written out and paths made absolute.
  std::string to_yaml() const;
};

// Loads, applies assignments, checks everything and reports all errors at once.
SweepDocument load_sweep(const std::filesystem::path& path, const std::vector<std::string>& assignments = {});
SweepDocument read_sweep(const config::Value& value, const std::string& file_name,
                         const std::filesystem::path& folder, const CardTypes& types = card_types());
// The same for whoever wants to know what is wrong line by line: that is in the diagnostics when it throws,
// unless it belongs to no line.
SweepDocument read_sweep(const config::Value& value, const std::string& file_name,
                         const std::filesystem::path& folder, const CardTypes& types,
                         config::Diagnostics& diagnostics);

}  // namespace stoker
