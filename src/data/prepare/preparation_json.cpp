#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <unordered_set>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/dates/date_form.h"
#include "data/dates/date_parts.h"
#include "data/prepare/preparation.h"
#include "data/table/array_columns.h"
#include "data/target/relative_answers.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 6> kind_names{"number",   "one_hot", "ordinal",
                                                     "embedded", "missing", "target"};
constexpr std::array<std::string_view, 4> curve_names{"straight", "clipped", "quantile", "constant"};
constexpr const char* held_numbers_name = "numbers";
constexpr std::size_t most_names = 1'000'000;

[[noreturn]] void refuse_part(const std::string& part, const std::string& what) {
  refuse("the model's preparation cannot be read: {} {}", part, what);
}

const json& member(const json& map, const char* name) {
  if (!map.is_object()) refuse_part(name, "should be in a map");
  const auto found = map.find(name);
  if (found == map.end()) refuse_part(name, "is missing");
  return *found;
}

std::string text_of(const json& map, const char* name) {
  const json& value = member(map, name);
  if (!value.is_string()) refuse_part(name, "should be text");
  return value.get<std::string>();
}

double number_of(const json& map, const char* name) {
  const json& value = member(map, name);
  if (!value.is_number() || !std::isfinite(value.get<double>())) refuse_part(name, "should be a number");
  return value.get<double>();
}

double scale_of(const json& map) {
  const double scale = number_of(map, "scale");
  if (!(scale > 0)) refuse_part("scale", "should be above 0");
  return scale;
}

std::vector<std::string> different_texts(const json& map, const char* name) {
  const json& list = member(map, name);
  if (!list.is_array() || list.size() > most_names) refuse_part(name, "should be a list of text values");
  std::vector<std::string> texts;
  for (const json& item : list) {
    if (!item.is_string()) refuse_part(name, "should be a list of text values");
    texts.push_back(item.get<std::string>());
  }
  if (std::unordered_set<std::string>(texts.begin(), texts.end()).size() != texts.size()) {
    refuse_part(name, "contains a value twice");
  }
  return texts;
}

template <class Names>
std::size_t position_of(const Names& names, const json& map, const char* name) {
  const std::string text = text_of(map, name);
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) refuse_part(name, "is '" + text + "', which is unknown");
  return static_cast<std::size_t>(found - names.begin());
}

using Kind = PreparedColumn::Kind;

bool has_scale(Kind kind) {
  return kind == Kind::number || kind == Kind::ordinal;
}

void write_scale(json& result, const ColumnScale& scale) {
  result["shift"] = scale.shift;
  result["scale"] = scale.scale;
  if (scale.curve != ColumnScale::Curve::straight)
    result["curve"] = curve_names[static_cast<std::size_t>(scale.curve)];
  if (!scale.quantiles.empty()) result["quantiles"] = scale.quantiles;
}

json statistics_json(const std::vector<TargetStatistic>& statistics) {
  json list = json::array();
  for (const TargetStatistic& each : statistics) {
    json statistic{{"of_class", each.of_class}, {"smoothing", each.smoothing}, {"means", each.means}};
    write_scale(statistic, each);
    list.push_back(std::move(statistic));
  }
  return list;
}

// Members that earlier versions did not know are left out where they say nothing.
json column_json(const PreparedColumn& column) {
  json result{{"name", column.name}, {"kind", kind_names[static_cast<std::size_t>(column.kind)]}};
  if (!column.date_form.empty()) result["date_form"] = column.date_form;
  if (column.kind == Kind::number) result["fill"] = column.fill;
  if (column.held_numbers) result["held"] = held_numbers_name;
  if (column.part != DatePart::none) result["part"] = config::name_of(column.part);
  if (column.is_apart) result["apart"] = true;
  if (column.is_text()) {
    result["fill_text"] = column.fill_text;
    result["categories"] = column.categories;
    if (!column.shares.empty()) result["shares"] = column.shares;
  }
  if (has_scale(column.kind)) write_scale(result, column);
  if (column.kind == Kind::target) result["statistics"] = statistics_json(column.statistics);
  return result;
}

std::vector<double> numbers_of(const json& map, const char* name) {
  const json& list = member(map, name);
  if (!list.is_array() || list.size() > most_names) refuse_part(name, "should be a list of numbers");
  std::vector<double> numbers;
  for (const json& item : list) {
    if (!item.is_number() || !std::isfinite(item.get<double>()))
      refuse_part(name, "should be a list of numbers");
    numbers.push_back(item.get<double>());
  }
  return numbers;
}

void read_curve(const json& map, ColumnScale& column) {
  column.shift = number_of(map, "shift");
  column.scale = scale_of(map);
  if (map.contains("curve"))
    column.curve = static_cast<ColumnScale::Curve>(position_of(curve_names, map, "curve"));
  if (column.curve != ColumnScale::Curve::quantile && !map.contains("quantiles")) return;
  column.quantiles = numbers_of(map, "quantiles");
  const bool ascends = std::is_sorted(column.quantiles.begin(), column.quantiles.end());
  if (column.quantiles.size() < 2 || !ascends) refuse_part("quantiles", "should be at least two, ascending");
}

TargetStatistic statistic_from(const json& map, const PreparedColumn& column) {
  TargetStatistic statistic;
  read_curve(map, statistic);
  const json& of_class = member(map, "of_class");
  if (!of_class.is_number_integer()) refuse_part("of_class", "should be a whole number");
  statistic.of_class = of_class.get<std::int64_t>();
  statistic.smoothing = number_of(map, "smoothing");
  if (statistic.smoothing < 0) refuse_part("smoothing", "should not be below 0");
  statistic.means = numbers_of(map, "means");
  if (statistic.means.size() != column.categories.size() + 1)
    refuse_part("means", "of column '" + column.name + "' are not one for each category and one of all rows");
  return statistic;
}

std::vector<TargetStatistic> statistics_from(const json& list, const PreparedColumn& column) {
  if (!list.is_array() || list.empty() || list.size() > most_names)
    refuse_part("statistics", "of column '" + column.name + "' should be a list");
  std::vector<TargetStatistic> statistics;
  for (const json& each : list) statistics.push_back(statistic_from(each, column));
  return statistics;
}

// Each is of another class, or there is one alone.
void refuse_strange_statistics(const PreparedColumn& column, std::size_t classes) {
  const std::vector<TargetStatistic>& statistics = column.statistics;
  std::int64_t before = classes == 0 ? -1 : 0;
  for (const TargetStatistic& each : statistics) {
    if (each.of_class <= before ||
        each.of_class >= std::max<std::int64_t>(static_cast<std::int64_t>(classes), 1))
      refuse_part("statistics", "of column '" + column.name + "' do not fit the target");
    before = each.of_class;
  }
}

PreparedColumn column_from(const json& map) {
  PreparedColumn column;
  column.name = text_of(map, "name");
  column.kind = static_cast<Kind>(position_of(kind_names, map, "kind"));
  if (map.contains("date_form")) column.date_form = DateForm(text_of(map, "date_form")).text();
  if (column.kind == Kind::number) {
    column.fill = number_of(map, "fill");
    if (map.contains("part"))
      column.part = static_cast<DatePart>(position_of(config::names<DatePart>, map, "part"));
    column.held_numbers = map.contains("held") && map.at("held") == held_numbers_name;
    column.is_apart = map.contains("apart") && map.at("apart") == true;
  }
  if (column.is_text()) {
    column.fill_text = text_of(map, "fill_text");
    column.categories = different_texts(map, "categories");
    if (column.categories.empty()) refuse_part("categories", "of column '" + column.name + "' is empty");
    if (map.contains("shares") && column.kind == Kind::one_hot) column.shares = numbers_of(map, "shares");
    if (!column.shares.empty() && column.shares.size() != column.categories.size())
      refuse_part("shares", "of column '" + column.name + "' are not one for each category");
  }
  if (has_scale(column.kind)) read_curve(map, column);
  if (column.kind == Kind::target) column.statistics = statistics_from(member(map, "statistics"), column);
  return column;
}

std::vector<PreparedColumn> columns_from(const json& list) {
  if (!list.is_array() || list.empty() || list.size() > most_names) {
    refuse_part("columns", "should be a list of columns");
  }
  std::vector<PreparedColumn> columns;
  std::unordered_set<std::string> names;
  for (const json& item : list) {
    columns.push_back(column_from(item));
    const PreparedColumn& column = columns.back();
    const bool is_value = column.kind != Kind::missing;
    const std::string part(config::name_of(column.part));
    if (!names.insert(fmt::format("{} {} {}", is_value, part, column.name)).second)
      refuse_part("columns", "contains '" + columns.back().name + "' twice");
  }
  return columns;
}

std::int64_t whole_number_of(const json& map, const char* name, std::int64_t most) {
  const json& value = member(map, name);
  if (!value.is_number_integer() || value.get<std::int64_t>() < 1 || value.get<std::int64_t>() > most)
    refuse_part(name, fmt::format("should be a whole number from 1 to {}", most));
  return value.get<std::int64_t>();
}

// The columns are those that learn_set() makes.
SetColumns set_from(const json& map, const std::vector<PreparedColumn>& columns) {
  SetColumns set;
  set.members = text_of(map, "members");
  set.mask = text_of(map, "mask");
  set.count = whole_number_of(map, "count", most_array_places);
  set.width = whole_number_of(map, "width", most_array_places);
  set.room = whole_number_of(map, "room", most_array_places);
  const std::int64_t of_member = set.width + (set.mask.empty() ? 0 : 1);
  const bool fits = static_cast<std::int64_t>(columns.size()) == set.count * of_member;
  const auto is_number = [](const PreparedColumn& column) {
    return column.kind == Kind::number && column.part == DatePart::none && !column.is_apart;
  };
  if (!fits || !std::ranges::all_of(columns, is_number))
    refuse_part("set", "does not fit the columns of the model");
  return set;
}

CubesRead cubes_from(const json& map) {
  constexpr std::int64_t most_places = std::int64_t{1} << 24;
  CubesRead form;
  form.height = whole_number_of(map, "height", most_places);
  form.width = whole_number_of(map, "width", most_places);
  form.channels = whole_number_of(map, "channels", most_places);
  form.wavelengths = numbers_of(map, "wavelengths");
  if (!form.wavelengths.empty() && std::ssize(form.wavelengths) != form.channels)
    refuse_part("wavelengths", "should be one for each channel");
  const json& masks = member(map, "masks");
  if (!masks.is_boolean()) refuse_part("masks", "should be true or false");
  form.has_masks = masks.get<bool>();
  return form;
}

// Settings that a series to come is framed by; whatever is wrong with them is wrong with the model.
WindowsConfig windows_from(const json& map) {
  if (!map.is_object()) refuse_part("windows", "should be a map of settings");
  config::Diagnostics diagnostics("");
  const auto config = config::read<WindowsConfig>(config::from_json(map), "windows", diagnostics);
  if (!diagnostics.empty()) refuse_part("windows", "has wrong settings: " + diagnostics.text());
  if (const WindowsProblem problem = problem_of(config); !problem.text.empty())
    refuse_part("windows." + problem.setting, problem.text);
  return config;
}

}  // namespace

nlohmann::json Preparation::to_json() const {
  json target{{"name", target_column_}};
  if (!target_date_form_.empty()) target["date_form"] = target_date_form_;
  if (task_ == Task::regression) {
    target["shift"] = target_shifts_.front();
    target["scale"] = target_scales_.front();
    if (answers_array()) {
      target["shifts"] = target_shifts_;
      target["scales"] = target_scales_;
    }
    if (unknown_base_) {
      target["relative_to"] = config::name_of(RelativeTo::last);
      target["unknown_base"] = *unknown_base_;
    }
  } else {
    target["classes"] = classes_;
  }
  json columns = json::array();
  for (const PreparedColumn& column : columns_) columns.push_back(column_json(column));
  json result{{"task", config::name_of(task_)},
              {"missing_values", config::name_of(missing_values_)},
              {"target", std::move(target)},
              {"columns", std::move(columns)}};
  if (naive_) result["without_model"] = stoker::to_json(*naive_);
  if (set_)
    result["set"] = {{"members", set_->members},
                     {"mask", set_->mask},
                     {"count", set_->count},
                     {"width", set_->width},
                     {"room", set_->room}};
  if (cubes_)
    result["cubes"] = {{"height", cubes_->height},
                       {"width", cubes_->width},
                       {"channels", cubes_->channels},
                       {"wavelengths", cubes_->wavelengths},
                       {"masks", cubes_->has_masks}};
  if (windows_) result["windows"] = config::to_json(config::write(*windows_));
  if (!time_form_.empty()) result["time_form"] = time_form_;
  if (!slower_time_forms_.empty()) result["slower_time_forms"] = slower_time_forms_;
  return result;
}

Preparation Preparation::from_json(const nlohmann::json& json) {
  Preparation result;
  result.task_ = static_cast<Task>(position_of(config::names<Task>, json, "task"));
  result.missing_values_ = static_cast<Missing>(position_of(config::names<Missing>, json, "missing_values"));
  const auto& target = member(json, "target");
  result.target_column_ = text_of(target, "name");
  if (target.contains("date_form")) result.target_date_form_ = DateForm(text_of(target, "date_form")).text();
  if (result.task_ == Task::regression) {
    result.target_shifts_ = {number_of(target, "shift")};
    result.target_scales_ = {scale_of(target)};
    if (target.contains("shifts")) {
      result.target_shifts_ = numbers_of(target, "shifts");
      result.target_scales_ = numbers_of(target, "scales");
      result.steps_ = static_cast<std::int64_t>(result.target_shifts_.size());
      const bool all_above_0 =
          std::ranges::all_of(result.target_scales_, [](double each) { return each > 0; });
      if (result.steps_ < 2 || result.target_scales_.size() != result.target_shifts_.size() || !all_above_0)
        refuse_part("scales", "should be one above 0 for each of several numbers");
    }
    if (target.contains("relative_to")) {
      if (text_of(target, "relative_to") != config::name_of(RelativeTo::last))
        refuse_part("relative_to", "should be last");
      result.unknown_base_ = number_of(target, "unknown_base");
    }
  } else {
    result.classes_ = different_texts(target, "classes");
    if (result.classes_.size() < 2) refuse_part("classes", "has fewer than two entries");
    if (result.task_ == Task::binary && result.classes_.size() != 2)
      refuse_part("classes", "does not have two entries");
  }
  if (!json.contains("cubes")) result.columns_ = columns_from(member(json, "columns"));
  for (const PreparedColumn& column : result.columns_)
    refuse_strange_statistics(column, result.classes_.size());
  if (json.contains("cubes")) {
    if (!member(json, "columns").empty() || json.contains("set") || json.contains("windows") ||
        result.task_ != Task::binary)
      refuse_part("cubes", "are no columns");
    result.cubes_ = cubes_from(json.at("cubes"));
  }
  if (json.contains("set")) {
    result.set_ = set_from(json.at("set"), result.columns_);
    if (json.contains("windows") || result.task_ != Task::regression)
      refuse_part("set", "is for plain rows that are answered with numbers");
  }
  if (json.contains("windows") && result.steps_ > 1)
    refuse_part("shifts", "are for an array, but the model reads windows");
  if (!json.contains("windows") && result.unknown_base_)
    refuse_part("relative_to", "is for windows, and the model reads none");
  const auto read_naive_answers = [&] {
    if (json.contains("without_model"))
      result.naive_ = naive_answers_from(json.at("without_model"), result.classes_.size(),
                                         static_cast<std::size_t>(result.steps_));
  };
  if (!json.contains("windows")) {
    read_naive_answers();
    return result;
  }
  result.windows_ = windows_from(json.at("windows"));
  if (const std::string problem = problem_with_relative_answers(*result.windows_);
      result.unknown_base_ && !problem.empty())
    refuse_part("relative_to", problem);
  if (json.contains("time_form")) result.time_form_ = DateForm(text_of(json, "time_form")).text();
  if (json.contains("slower_time_forms")) {
    const auto& forms = json.at("slower_time_forms");
    for (const auto& form : forms.items())
      result.slower_time_forms_.emplace(form.key(), DateForm(text_of(forms, form.key().c_str())).text());
  }
  if (result.windows_->answer == Answer::path) {
    if (result.task_ != Task::regression) refuse_part("windows", "answer with a path, but predict classes");
    result.steps_ = result.windows_->horizon;
  }
  read_naive_answers();
  return result;
}

}  // namespace stoker
