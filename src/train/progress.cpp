#include "train/progress.h"

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace stoker {
namespace {

using nlohmann::json;

// JSON has no name for what is not finite, and a loss can be that.
json written(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string& text = value.get_ref<const std::string&>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  refuse("'{}' is no number", text);
}

json written(const std::optional<double>& value) {
  return value ? written(*value) : json(nullptr);
}

std::optional<double> number_or_none(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(number_of(value));
}

json epoch_to_json(const EpochReport& report) {
  return {{"epoch", report.record.epoch},
          {"train_loss", written(report.record.train_loss)},
          {"validation_loss", written(report.record.validation_loss)},
          {"is_best", report.record.is_best},
          {"learning_rate", written(report.learning_rate)},
          {"seconds", written(report.seconds)},
          {"rows_per_second", written(report.rows_per_second)}};
}

EpochReport epoch_from_json(const json& value) {
  EpochReport report;
  report.record.epoch = value.at("epoch").get<std::int64_t>();
  report.record.train_loss = number_of(value.at("train_loss"));
  report.record.validation_loss = number_or_none(value.at("validation_loss"));
  report.record.is_best = value.at("is_best").get<bool>();
  report.learning_rate = number_of(value.at("learning_rate"));
  report.seconds = number_of(value.at("seconds"));
  report.rows_per_second = number_of(value.at("rows_per_second"));
  return report;
}

Progress progress_from(const json& value) {
  Progress progress;
  progress.phase = value.value("phase", std::size_t{0});
  progress.next_step = value.at("next_step").get<std::int64_t>();
  progress.plateau_factor = number_of(value.at("plateau_factor"));
  progress.epochs_since_best = value.at("epochs_since_best").get<std::int64_t>();
  progress.best_validation_loss = number_or_none(value.at("best_validation_loss"));
  progress.seconds = number_of(value.at("seconds"));
  progress.unfinished_epoch_seconds = number_of(value.at("unfinished_epoch_seconds"));
  progress.stopped_early = value.at("stopped_early").get<bool>();
  for (const json& epoch : value.at("epochs")) progress.epochs.push_back(epoch_from_json(epoch));
  if (progress.next_step < 0 || progress.epochs_since_best < 0)
    refuse("the progress of a training has a negative count");
  return progress;
}

}  // namespace

json Progress::to_json() const {
  json list = json::array();
  for (const EpochReport& report : epochs) list.push_back(epoch_to_json(report));
  return {{"phase", phase},
          {"next_step", next_step},
          {"plateau_factor", written(plateau_factor)},
          {"epochs_since_best", epochs_since_best},
          {"best_validation_loss", written(best_validation_loss)},
          {"seconds", written(seconds)},
          {"unfinished_epoch_seconds", written(unfinished_epoch_seconds)},
          {"stopped_early", stopped_early},
          {"epochs", std::move(list)}};
}

Progress Progress::from_json(const json& value) {
  try {
    return progress_from(value);
  } catch (const json::exception& error) {
    refuse("this is not the progress of a training: {}", error.what());
  }
}

}  // namespace stoker
