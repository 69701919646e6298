#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "report/experts/expert_pictures.h"
#include "report/plot/drawn_map.h"
#include "report/plot/epoch_lines.h"
#include "report/plot/pictures.h"
#include "report/run/report.h"
#include "report/spectral/spectral_pictures.h"

namespace stoker {

std::string in_picture_name(const std::string& card) {
  std::string name = card.substr(0, 100);
  const auto is_plain = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  std::replace_if(
      name.begin(), name.end(), [&](char c) { return !is_plain(static_cast<unsigned char>(c)); }, '_');
  return name;
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_drawn_classes = 1'000;
constexpr std::size_t most_expert_graphs = 10;

// "loss.png", or "loss-<card>.png" where several cards have such a picture.
std::string file_name(std::string_view what, const std::string& card, bool several) {
  return several ? fmt::format("{}-{}.png", what, in_picture_name(card)) : fmt::format("{}.png", what);
}

void draw_evaluation(Drawer& drawer, const CardEvaluation& each, const std::string& run, bool several) {
  if (!drawable_rows(each.evaluation).empty()) {
    drawer.draw(predicted_picture(each.evaluation, run),
                file_name("predicted_vs_actual", each.card, several));
    drawer.draw(residuals_picture(each.evaluation, run), file_name("residuals", each.card, several));
  }
  if (const auto over_time = drawable_over_time(each.evaluation))
    drawer.draw(over_time_picture(*over_time, each.evaluation.target, run),
                file_name("predicted_over_time", each.card, several));
  if (drawn_map(each.evaluation))
    drawer.draw(map_picture(each.evaluation, run), file_name("map", each.card, several));
  const auto* matrix = each.evaluation.chart<ConfusionMatrix>();
  if (matrix == nullptr) return;
  // An image of one cell is none to gnuplot; thousands of classes do not show on 800 lines.
  const std::size_t classes = matrix->classes.size();
  if (classes >= 2 && classes <= most_drawn_classes)
    drawer.draw(confusion_picture(each.evaluation, run), file_name("confusion", each.card, several));
}

// Of trainings for classes.
void draw_accuracy(Drawer& drawer, const EpochValues& values, const RunContents& contents) {
  const auto lines = accuracy_lines(values);
  if (!lines) return;
  const auto curve = std::ranges::find(contents.curves, values.card, &LossCurve::card);
  drawer.draw(
      accuracy_picture(*lines, curve == contents.curves.end() ? 0 : curve->best_epoch, contents.record.name),
      file_name("accuracy", values.card, contents.values.size() > 1));
}

void draw_experts(Drawer& drawer, const CardExperts& each, const RunContents& contents, const Notes& notes) {
  const bool several = contents.experts.size() > 1;
  const std::string& run = contents.record.name;
  const auto curve = std::ranges::find(contents.curves, each.card, &LossCurve::card);
  const auto values = std::ranges::find(contents.values, each.card, &EpochValues::card);
  drawer.draw(expert_metrics_picture(each.experts, curve == contents.curves.end() ? nullptr : &*curve,
                                     values == contents.values.end() ? nullptr : &*values, run),
              file_name("training_metrics", each.card, several));
  drawer.draw(expert_devices_picture(each.experts, run),
              file_name("expert_device_distribution", each.card, several));
  if (const auto activations = expert_activations_picture(each.experts, run))
    drawer.draw(*activations, file_name("expert_activations", each.card, several));
  if (each.experts.moments_over_time().empty()) {
    notes(Severity::info,
          "the graph of the experts was not drawn: the training ended before their first sleep");
    return;
  }
  const ExpertPlaces places(each.experts);
  for (const ExpertsRecord::Moment* moment : moments_to_draw(each.experts, most_expert_graphs))
    drawer.draw(expert_graph_picture(places, *moment, run),
                file_name(fmt::format("knowledge_graph_epoch_{}", moment->epoch), each.card, several));
}

// cube_1.png, cube_2.png, …, spectra.png, components.png and precision_recall.png.
void draw_cubes(Drawer& drawer, const CardCubes& each, const std::string& run, bool several) {
  const CubeRecord& record = each.record;
  for (std::size_t i = 0; i < record.shown.size(); ++i)
    drawer.draw(cube_picture(record.shown[i]), file_name(fmt::format("cube_{}", i + 1), each.card, several));
  if (!record.spectra.means.empty())
    drawer.draw(spectra_picture(record.spectra, run), file_name("spectra", each.card, several));
  if (!record.components.empty())
    drawer.draw(components_picture(record.components, run), file_name("components", each.card, several));
  if (!record.curve.recall.empty())
    drawer.draw(precision_recall_picture(record.curve, run),
                file_name("precision_recall", each.card, several));
}

}  // namespace

void draw_plots(const RunPaths& paths, const Notes& notes) {
  draw_plots(paths, read_contents(paths), notes);
}

void draw_plots(const RunPaths& paths, const RunContents& contents, const Notes& notes) {
  for (const std::string& reason : contents.left_out) notes(Severity::info, reason);
  if (contents.curves.empty() && contents.evaluations.empty() && contents.experts.empty() &&
      contents.cubes.empty())
    return;
  const fs::path gnuplot = find_gnuplot();
  if (gnuplot.empty()) {
    notes(Severity::info,
          "no pictures were drawn: gnuplot is not installed (Debian, Ubuntu: gnuplot-nox); report.html has "
          "its plots without it");
    return;
  }
  Drawer drawer(gnuplot, paths.plots(), notes);
  for (const LossCurve& curve : contents.curves) {
    const bool several = contents.curves.size() > 1;
    drawer.draw(loss_picture(curve, contents.record.name), file_name("loss", curve.card, several));
    if (const auto picture = training_picture(curve, contents.record.name))
      drawer.draw(*picture, file_name("training", curve.card, several));
  }
  for (const EpochValues& each : contents.values) draw_accuracy(drawer, each, contents);
  for (const CardExperts& each : contents.experts) draw_experts(drawer, each, contents, notes);
  for (const CardEvaluation& each : contents.evaluations)
    draw_evaluation(drawer, each, contents.record.name, contents.evaluations.size() > 1);
  for (const CardCubes& each : contents.cubes)
    draw_cubes(drawer, each, contents.record.name, contents.cubes.size() > 1);
  drawer.finish();
}

}  // namespace stoker
