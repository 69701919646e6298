#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/prepare/column_scale.h"
#include "data/prepare/preparation.h"
#include "data/table/table.h"
#include "model/model.h"

namespace stoker {

// Values of a column that a prediction has to make do without.
struct ColumnGaps {
  std::string column;
  std::int64_t missing = 0;  // filled in with what was usual in training
  std::int64_t unseen = 0;   // texts that training had not seen, or only once
  std::int64_t outside = 0;  // numbers or dates far from those of training
  NumberRange range = {};    // those of training, where some are outside

  bool has_any() const { return missing > 0 || unseen > 0 || outside > 0; }
};

// Of the columns that the model reads and that have any, in the model's order.
std::vector<ColumnGaps> gaps_in(const Table& table, const Preparation& preparation);

// "missing values were filled in: 3 in 'age'; values that training had not seen, or only once: 2 in 'kind';
// values far from those of training: 1 in 'size' (0.5 to 12)"; "" of none.
std::string gaps_text(const std::vector<ColumnGaps>& gaps);

// Columns of the table that the model does not read, in the table's order. Of windows and sets, whose columns
// go by other names, none.
std::vector<std::string> columns_not_read(const Table& table, const Model& model);
// "the model reads no column of these names: …"
std::string text_of_not_read(const std::vector<std::string>& columns);

}  // namespace stoker
