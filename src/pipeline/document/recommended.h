#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"
#include "model/family.h"

namespace stoker {

// A table to train on, as far as settings depend on it.
struct TableShape {
  std::int64_t rows = 0;
  std::int64_t numbers = 0;  // columns of numbers
  std::int64_t others = 0;   // columns that texts become
  bool has_classes = false;
  std::int64_t moments = 0;  // of windows of a series, where the rows are these
};

// Settings of the cards that define and train a network.
struct NetworkSettings {
  config::Value model;
  config::Value train;
  std::vector<std::string> reasons = {};  // for people; empty in settings that a person gave
};

// `given` with settings that do well on tables of that shape beside it, as docs/quality.md has measured:
// capacity, batch and epochs by the number of rows, numbers embedded, AdamW with a schedule, early stopping,
// an ensemble where it costs seconds. What is given is kept and, where others depend on it, they follow.
NetworkSettings recommended_settings(const Family& family, const TableShape& shape, NetworkSettings given);

// Every setting that recommended_settings() may add; one of a map as MAP.SETTING. The defaults of the cards
// do not apply to these in `stoker train`.
std::span<const std::string_view> settings_chosen_by_data();

}  // namespace stoker
