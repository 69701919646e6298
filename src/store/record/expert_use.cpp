#include "store/record/expert_use.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker {

std::string saved_before_changes(const ExpertUse& use) {
  if (use.saved_epoch == 0 || use.changes_after_saved == 0) return "";
  const std::string changes = use.changes == 1
                                  ? "the only birth, merge or removal"
                                  : fmt::format("{} births, merges and removals",
                                                human_count(static_cast<std::uint64_t>(use.changes)));
  if (use.precedes_all_changes())
    return fmt::format(
        "the saved model has the weights of epoch {}, before the first change of its experts in epoch {}; {} "
        "of this training came later",
        use.saved_epoch, use.first_change_epoch, changes);
  return fmt::format("the saved model has the weights of epoch {}; {} of the {} of this training came later",
                     use.saved_epoch, use.changes_after_saved, changes);
}

nlohmann::json to_json(const ExpertUse& use) {
  nlohmann::json json{{"saved_epoch", use.saved_epoch},
                      {"first_change_epoch", use.first_change_epoch},
                      {"changes", use.changes},
                      {"changes_after_saved", use.changes_after_saved}};
  if (use.rows.empty()) return json;
  json["rows_per_expert"] = use.rows;
  json["measured_rows"] = use.measured_rows;
  return json;
}

ExpertUse expert_use_from(const RecordPart& part) {
  ExpertUse use;
  use.saved_epoch = part.whole("saved_epoch", 0, 0);
  use.first_change_epoch = part.whole("first_change_epoch", 0, 0);
  use.changes = part.whole("changes", 0, 0);
  use.changes_after_saved = part.whole("changes_after_saved", 0, 0);
  use.measured_rows = part.whole("measured_rows", 0, 0);
  part.each("rows_per_expert", [&](const nlohmann::json& value, const RecordPart::Place& place) {
    if (!value.is_number_integer() || value < 0) refuse("{}: expected a number of rows", place());
    use.rows.push_back(value.get<std::int64_t>());
  });
  return use;
}

}  // namespace stoker
