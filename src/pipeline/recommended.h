#pragma once

#include <cstdint>

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
};

// `given` with settings that do well on tables of that shape beside it, as docs/quality.md has measured:
// capacity, batch and epochs by the number of rows, numbers embedded, AdamW with a schedule, early stopping,
// an ensemble where it costs seconds. What is given is kept and, where others depend on it, they follow.
NetworkSettings recommended_settings(const Family& family, const TableShape& shape, NetworkSettings given);

}  // namespace stoker
