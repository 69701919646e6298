#include "data/windows_config.h"

#include <algorithm>

#include <fmt/format.h>

namespace stoker {

WindowsProblem problem_of(const WindowsConfig& config) {
  if (config.horizon == 0 && config.answer != Answer::given)
    return {"horizon", "is 0, which leaves nothing to predict; only with answer: given may it be 0"};
  if (config.answer == Answer::path && config.horizon > most_steps_ahead)
    return {"horizon", fmt::format("is {}, but answer: path makes each step an output, and the maximum is {}",
                                   config.horizon, most_steps_ahead)};
  if (config.threshold != 0 && config.answer != Answer::direction)
    return {"threshold",
            fmt::format("is for answer: direction, but answer is {}", config::name_of(config.answer))};
  if (!config.time_column.empty() && config.time_column == config.group_column)
    return {"group_column", "is the time_column too; one column cannot be both"};
  for (const std::string* other : {&config.time_column, &config.group_column})
    if (*other == config.target_column)
      return {"target_column", "is the time_column or group_column too, which cannot be predicted"};
  const bool names_target =
      std::ranges::find(config.feature_columns, config.target_column) != config.feature_columns.end();
  if (config.answer == Answer::given && names_target)
    return {"feature_columns",
            "contains the target column, which with answer: given is the answer and no feature"};
  return {};
}

std::vector<std::string> answer_columns(const WindowsConfig& config) {
  if (config.answer != Answer::path || config.horizon == 1) return {config.target_column};
  std::vector<std::string> names;
  for (std::int64_t step = 1; step <= config.horizon; ++step)
    names.push_back(fmt::format("{} ({} ahead)", config.target_column, step));
  return names;
}

}  // namespace stoker
