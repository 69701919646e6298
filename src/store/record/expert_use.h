#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "store/record/record_part.h"

namespace stoker {

// What the saved model of a mixture of experts has of them, as run.json has it.
struct ExpertUse {
  std::int64_t saved_epoch = 0;         // whose weights the saved model has; 0: not known
  std::int64_t first_change_epoch = 0;  // of the first birth, merge or removal; 0: there was none
  std::int64_t changes = 0;             // births, merges and removals in the whole training
  std::int64_t changes_after_saved = 0;
  std::vector<std::int64_t> rows;  // training rows of each living expert of the saved model
  std::int64_t measured_rows = 0;  // training rows that were counted

  bool precedes_all_changes() const { return changes > 0 && changes_after_saved == changes; }
};

// "" if the saved model has gone through all changes.
std::string saved_before_changes(const ExpertUse& use);

nlohmann::json to_json(const ExpertUse& use);
ExpertUse expert_use_from(const RecordPart& part);  // throws an error if it is none

}  // namespace stoker
