#include "data/windows/windows_config.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "base/text/text.h"

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

std::string lag_column(const std::string& feature, std::int64_t back) {
  return fmt::format("{} ({} back)", feature, back);
}

std::string feature_of_lag(const WindowsConfig& config, const std::string& column) {
  const std::size_t opened = column.rfind(" (");
  if (config.layout != WindowLayout::columns || opened == std::string::npos) return column;
  const std::string feature = column.substr(0, opened);
  const std::string_view inside = std::string_view(column).substr(opened + 2);
  std::int64_t back = 0;
  const auto [end, error] = std::from_chars(inside.data(), inside.data() + inside.size(), back);
  if (error != std::errc() || back < 0 || back >= config.length) return column;
  return lag_column(feature, back) == column ? feature : column;
}

namespace {

std::string listed(const std::vector<std::string>& names) {
  return names.empty() ? "none" : join(names, ", ");
}

}  // namespace

std::string difference_between(const WindowsConfig& one, const WindowsConfig& other) {
  const auto instead = [](std::string_view setting, const auto& there, const auto& here) {
    return fmt::format("{} {} instead of {}", setting, there, here);
  };
  if (one.target_column != other.target_column)
    return instead("target_column", other.target_column, one.target_column);
  if (one.layout != other.layout)
    return instead("layout", config::name_of(other.layout), config::name_of(one.layout));
  if (one.length != other.length) return instead("length", other.length, one.length);
  if (one.answer != other.answer)
    return instead("answer", config::name_of(other.answer), config::name_of(one.answer));
  if (one.moments_needed_ahead() != other.moments_needed_ahead())
    return instead("horizon", other.horizon, one.horizon);
  if (one.threshold != other.threshold) return instead("threshold", other.threshold, one.threshold);
  if (one.carry_forward != other.carry_forward)
    return instead("carry_forward", other.carry_forward, one.carry_forward);
  const std::vector<std::string>& names = one.slower.slower_names;
  if (names != other.slower.slower_names)
    return instead("slower_names", listed(other.slower.slower_names), listed(names));
  if (!names.empty() && one.slower.slower_stamp != other.slower.slower_stamp)
    return instead("slower_stamp", config::name_of(other.slower.slower_stamp),
                   config::name_of(one.slower.slower_stamp));
  return "";
}

}  // namespace stoker
