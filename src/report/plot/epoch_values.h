#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// What values/CARD.csv of a run folder tells of every epoch of a training beside its loss: an epoch a line.
struct EpochValues {
  std::string card;
  std::vector<double> epochs;
  std::vector<std::string> names;            // train_NAME and validation_NAME
  std::vector<std::vector<double>> columns;  // of each name; NaN where there is none

  const std::vector<double>* column(std::string_view name) const;  // null if there is none
};

// By card. Refuses what is no such file.
std::vector<EpochValues> read_epoch_values(const std::filesystem::path& folder);

}  // namespace stoker
