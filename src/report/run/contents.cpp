#include "report/run/contents.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "config/bounded_json.h"
#include "config/value.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_document = 4U << 20;
constexpr std::size_t largest_evaluation = 96U << 20;  // a confusion matrix of some 3,000 classes
constexpr std::size_t largest_experts = 64U << 20;
constexpr std::size_t most_experts = 100;
constexpr std::size_t largest_cubes = 24U << 20;
constexpr std::size_t most_cube_records = 100;
constexpr std::size_t most_views_of_page = 3;  // of up to 2.7 MB each
constexpr std::size_t most_evaluations = 1'000;

void read_evaluations(const fs::path& folder, RunContents& contents) {
  std::vector<CardEvaluation>& evaluations = contents.evaluations;
  std::error_code error;
  if (!fs::is_directory(folder, error)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json" || !fs::is_regular_file(entry.symlink_status())) continue;
    if (evaluations.size() == most_evaluations)
      refuse("{} holds more than {} evaluations", folder.string(), most_evaluations);
    const std::string card = entry.path().stem().string();
    if (entry.file_size() > largest_evaluation) {
      contents.left_out.push_back(fmt::format("the evaluation {} is too large to be drawn ({})", card,
                                              human_bytes(entry.file_size())));
    } else {
      evaluations.push_back({card, read_evaluation(entry.path())});
    }
  }
}

ExpertsRecord read_experts(const fs::path& file) {
  const config::Bounds bounds{.bytes = largest_experts, .values = 10'000'000, .depth = 16};
  const config::Value value = config::parse_json(read_file(file, largest_experts), file.string(), bounds);
  const nlohmann::json json = config::to_json(value);
  return experts_from(RecordPart(json, [&] { return file.string(); }));
}

void read_all_experts(const fs::path& folder, std::vector<CardExperts>& experts) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json" || !fs::is_regular_file(entry.symlink_status())) continue;
    if (experts.size() == most_experts)
      refuse("{} holds the experts of more than {} cards", folder.string(), most_experts);
    experts.push_back({entry.path().stem().string(), read_experts(entry.path())});
  }
  std::ranges::sort(experts, {}, &CardExperts::card);
}

CubeRecord read_cube_record(const fs::path& file) {
  const auto parsed = [&] {
    try {
      return config::parse_bounded_json(read_file(file, largest_cubes), {});
    } catch (const nlohmann::json::parse_error&) {
      refuse("{} is damaged: it is not JSON", file.string());
    } catch (const Error& error) {
      refuse("{} is damaged: {}", file.string(), error.what());
    }
  };
  const nlohmann::json json = parsed();
  return cube_record_from(RecordPart(json, [&] { return file.string(); }));
}

void read_all_cubes(const fs::path& folder, const std::vector<CardCubes>& known,
                    std::vector<CardCubes>& cubes) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json" || !fs::is_regular_file(entry.symlink_status())) continue;
    if (cubes.size() == most_cube_records)
      refuse("{} holds the cubes of more than {} cards", folder.string(), most_cube_records);
    const std::string card = entry.path().stem().string();
    const auto found = std::ranges::find(known, card, &CardCubes::card);
    cubes.push_back(found == known.end() ? CardCubes{card, read_cube_record(entry.path())} : *found);
  }
  std::ranges::sort(cubes, {}, &CardCubes::card);
}

void put_in_order(std::vector<CardEvaluation>& evaluations, const RunRecord& record) {
  const auto place = [&](const std::string& card) {
    const auto found = std::find_if(record.results.begin(), record.results.end(),
                                    [&](const RunRecord::Result& result) { return result.card == card; });
    return found - record.results.begin();
  };
  std::sort(evaluations.begin(), evaluations.end(), [&](const CardEvaluation& a, const CardEvaluation& b) {
    return std::pair(place(a.card), a.card) < std::pair(place(b.card), b.card);
  });
}

void mark_best_epochs(std::vector<LossCurve>& curves, const RunRecord& record) {
  for (LossCurve& curve : curves) {
    for (const RunRecord::Training& training : record.trainings) {
      if (training.card == curve.card) curve.best_epoch = static_cast<double>(training.best_epoch);
    }
  }
}

}  // namespace

Evaluation read_evaluation(const fs::path& file) {
  const config::Bounds bounds{.bytes = largest_evaluation, .values = 20'000'000, .depth = 16};
  const config::Value value = config::parse_json(read_file(file, largest_evaluation), file.string(), bounds);
  try {
    return Evaluation::from_json(config::to_json(value));
  } catch (const Error& error) {
    refuse("{}: {}", file.string(), error.what());
  }
}

bool is_drawable(double value) {
  return std::abs(value) < 1e100;
}

RunContents read_contents(const RunPaths& paths, const std::vector<CardCubes>& known) {
  RunContents contents;
  contents.id = fs::absolute(paths.folder / "run.json").lexically_normal().parent_path().filename().string();
  contents.record = read_record(paths);
  std::error_code error;
  if (fs::is_regular_file(paths.document(), error))
    contents.document = read_file(paths.document(), largest_document);
  contents.curves = read_curves(paths.metrics());
  mark_best_epochs(contents.curves, contents.record);
  read_evaluations(paths.evaluations(), contents);
  read_all_experts(paths.experts(), contents.experts);
  read_all_cubes(cubes_folder(paths), known, contents.cubes);
  contents.values = read_epoch_values(paths.folder / "values");
  put_in_order(contents.evaluations, contents.record);
  return contents;
}

void read_record_again(const RunPaths& paths, RunContents& contents) {
  contents.record = read_record(paths);
  mark_best_epochs(contents.curves, contents.record);
  put_in_order(contents.evaluations, contents.record);
}

std::vector<const CubeView*> views_of_page(const RunContents& contents) {
  std::vector<const CubeView*> views;
  for (const CardCubes& each : contents.cubes)
    for (const CubeView& view : each.record.shown)
      if (views.size() < most_views_of_page) views.push_back(&view);
  return views;
}

std::vector<DrawnRow> drawable_rows(const Evaluation& evaluation) {
  std::vector<DrawnRow> rows;
  const auto* chart = evaluation.chart<PredictedAgainstActual>();
  if (chart == nullptr) return rows;
  for (std::size_t i = 0; i < chart->actual.size(); ++i) {
    if (is_drawable(chart->actual[i]) && is_drawable(chart->predicted[i]))
      rows.push_back({chart->actual[i], chart->predicted[i]});
  }
  return rows;
}

std::optional<PredictedOverTime> drawable_over_time(const Evaluation& evaluation) {
  const auto* chart = evaluation.chart<PredictedOverTime>();
  if (chart == nullptr) return std::nullopt;
  PredictedOverTime drawn{chart->group, chart->time_column, chart->has_dates, {}, {}, {}};
  for (std::size_t i = 0; i < chart->time.size(); ++i) {
    if (!is_drawable(chart->time[i]) || !is_drawable(chart->actual[i]) || !is_drawable(chart->predicted[i]))
      continue;
    drawn.time.push_back(chart->time[i]);
    drawn.actual.push_back(chart->actual[i]);
    drawn.predicted.push_back(chart->predicted[i]);
  }
  if (drawn.time.size() < 2) return std::nullopt;
  return drawn;
}

std::string axis_over_time(const PredictedOverTime& chart) {
  return chart.time_column.empty() ? "Row" : chart.time_column + " (last known value)";
}

}  // namespace stoker
