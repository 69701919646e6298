#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"
#include "data/windows/join_as_of.h"

namespace stoker {

// What is to be told from a window.
enum class Answer {
  ahead,      // the value of the target column `horizon` moments after the window's end
  path,       // those of every moment up to there
  direction,  // whether it has gone up or down by then, or neither
  given,      // what the target column holds at the window's last moment
};
enum class WindowLayout { windows, columns };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 4> stoker::config::names<stoker::Answer>{"ahead", "path",
                                                                                       "direction", "given"};
template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::WindowLayout>{"windows",
                                                                                             "columns"};

namespace stoker {

constexpr std::int64_t longest_window = 1'000'000;
constexpr std::int64_t most_steps_ahead = 1'000;  // of answer path: each is an output of the model

struct WindowsConfig {
  std::int64_t length = 20;
  std::int64_t horizon = 8;
  std::int64_t stride = 1;
  std::string target_column;
  Answer answer = Answer::ahead;
  double threshold = 0;
  std::string group_column;
  std::string time_column;
  std::vector<std::string> feature_columns;  // empty: all that are left
  WindowLayout layout = WindowLayout::windows;
  bool carry_forward = false;
  SlowerConfig slower = {};  // of a model, the tables that were joined to its series

  // Moments of which the answer is made, after the last one of the window.
  std::int64_t moments_needed_ahead() const { return answer == Answer::given ? 0 : horizon; }
};

inline config::Fields fields(WindowsConfig& c) {
  config::Fields all{
      config::field("length", c.length, "Rows of a window")
          .within(1, static_cast<double>(longest_window))
          .changes_rows(),
      config::field("horizon", c.horizon, "How many rows after the end of a window its answer reaches")
          .within(0, static_cast<double>(longest_window))
          .changes_rows(),
      config::field("stride", c.stride, "Rows from the beginning of a window to that of the next")
          .within(1, static_cast<double>(longest_window))
          .changes_rows(),
      config::field("target_column", c.target_column, "Column to predict")
          .required()
          .not_empty()
          .changes_conditions(),
      config::field("answer", c.answer,
                    "ahead: the value of target_column horizon rows after the window. path: its values in "
                    "all of these rows, one output each. direction: the classes up, down and flat, by how "
                    "much it has changed until then. given: target_column already holds the answer in the "
                    "last row of the window, and is no feature; horizon says how far ahead it looks")
          .changes_conditions(),
      config::field("threshold", c.threshold,
                    "answer direction: a relative change up to this counts as flat; 0.01 is one percent")
          .within(0, 1'000'000)
          .changes_conditions(),
      config::field("group_column", c.group_column,
                    "Column that tells several series apart, such as a symbol or a sensor: no window "
                    "reaches from one into another")
          .optional()
          .changes_conditions(),
      config::field("time_column", c.time_column,
                    "Column by which the rows are put in order; empty: they are in order already")
          .optional()
          .changes_conditions(),
      config::field("feature_columns", c.feature_columns,
                    "Columns to predict from; empty: all but those of time and group, the past of "
                    "target_column among them"),
      config::field("layout", c.layout,
                    "windows: for models that read sequences, as places in the series. columns: for all "
                    "others, as a table with a column for each feature and row of the window, such as "
                    "close (3 back)"),
      config::field("carry_forward", c.carry_forward,
                    "Fill a missing value of a feature with the last one before it in its series, as far as "
                    "there is one; answers are never filled"),
  };
  for (config::Field& each : fields(c.slower)) all.push_back(std::move(each));
  return all;
}

// What is wrong with the settings together, and which one it is; both "" where nothing is.
struct WindowsProblem {
  std::string setting;
  std::string text;
};
WindowsProblem problem_of(const WindowsConfig& config);

// The columns that answers stand in: one of the target column's name, or one for each of several steps.
std::vector<std::string> answer_columns(const WindowsConfig& config);

// The column that layout columns makes of a feature `back` moments before a window's end, and the feature
// that such a column is of; a name that is none of these is a feature's itself.
std::string lag_column(const std::string& feature, std::int64_t back);
std::string feature_of_lag(const WindowsConfig& config, const std::string& column);

// By which setting rows made with `other` are read or answered otherwise than those made with `one`, such as
// "horizon 8 instead of 1"; "" where they are not.
std::string difference_between(const WindowsConfig& one, const WindowsConfig& other);

}  // namespace stoker
