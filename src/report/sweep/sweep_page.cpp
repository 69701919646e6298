#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "base/text/human_number.h"
#include "base/text/text.h"
#include "predict/measure/metrics.h"
#include "report/page/page.h"
#include "report/page/page_data.h"
#include "report/run/sections.h"
#include "report/sweep/sweep_contents.h"
#include "report/sweep/sweep_report.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t most_table_rows = 500;
constexpr std::size_t most_points = 10'000;

std::string score_text(const SweepContents::Trial& trial, bool with_spread) {
  if (!trial.score) return "–";
  return with_spread ? fmt::format("{} ± {:.2g}", human_number(*trial.score), trial.spread)
                     : human_number(*trial.score);
}

// The winner's runs lie beside the sweep, so that a link still holds after all were moved.
std::string link_to_run(const fs::path& run, const fs::path& folder) {
  const fs::path beside = fs::path("..") / run.filename() / "report.html";
  std::error_code error;
  if (!fs::exists(folder / beside, error)) return html_escaped(run.string());
  return fmt::format("<a href=\"{}\">{}</a>", html_escaped(beside.string()),
                     html_escaped(run.filename().string()));
}

std::string runs_of_winner(const SweepContents& contents, const fs::path& folder) {
  if (contents.winner_run.empty()) return contents.winner > 0 ? "The winner was not refitted." : "";
  std::string text =
      fmt::format("The winner was refitted as the run {}.", link_to_run(contents.winner_run, folder));
  if (!contents.final_run.empty())
    text += fmt::format(
        " After that it was trained once more, on all rows, as the run {}. The test scores are those of the "
        "model before that: no rows are left to test the last one on.",
        link_to_run(contents.final_run, folder));
  return text;
}

// On the rows held back for testing, which the search has not seen.
std::string winner_metrics(const fs::path& run, const fs::path& folder) {
  if (run.empty()) return "";
  std::error_code error;
  const RunPaths beside{folder / ".." / run.filename()};
  if (!fs::is_regular_file(beside.record(), error)) return "";
  std::string tiles;
  for (const RunRecord::Result& result : read_record(beside).results)
    for (const auto& [name, value] : result.metrics)
      tiles += fmt::format("<div class=\"tile\"><dt>{}</dt><dd>{}</dd></div>\n",
                           html_escaped(std::string(title_of(name))),
                           std::isfinite(value) ? human_number(value) : "–");
  return tiles.empty() ? ""
                       : "<h3>The winner on the test rows</h3>\n<dl class=\"tiles\">\n" + tiles + "</dl>\n";
}

std::string summary_section(const SweepContents& contents, const fs::path& folder) {
  const SweepContents::Trial* winner = contents.winning();
  std::string tiles;
  const auto tile = [&](const std::string& name, const std::string& value) {
    tiles += fmt::format("<div class=\"tile\"><dt>{}</dt><dd>{}</dd></div>\n", html_escaped(name),
                         html_escaped(value));
  };
  if (winner != nullptr) {
    tile("Best " + contents.metric, score_text(*winner, contents.folds > 0));
    tile("Trial", fmt::format("{} of {}", winner->number, contents.trials.size()));
    for (std::size_t i = 0; i < contents.settings.size(); ++i)
      tile(contents.settings[i].name, winner->values[i]);
  }
  std::string text = fmt::format("<section>\n<h2>Result</h2>\n<dl class=\"tiles\">\n{}</dl>\n", tiles);
  text += winner_metrics(contents.winner_run, folder);
  text += fmt::format(
      "<p class=\"hint\">Strategy {}, {}.{} {}</p>\n</section>\n", html_escaped(contents.strategy),
      contents.folds > 0 ? fmt::format("{} folds", contents.folds)
                         : std::string("scored on the validation rows"),
      contents.time_budget_reached ? " The time budget was reached." : "", runs_of_winner(contents, folder));
  return text;
}

std::string score_section(const SweepContents& contents) {
  std::string figures;
  for (std::size_t i = 0; i < contents.settings.size(); ++i) {
    const std::string caption = contents.metric + " against " + contents.settings[i].name + " · best dashed";
    figures += figure("score", i, html_escaped(caption), "");
  }
  if (figures.empty()) return "";
  return fmt::format(
      "<section>\n<h2>Score against each setting</h2>\n<div class=\"plots\">\n{}</div>\n</section>\n",
      figures);
}

std::string curves_section(const SweepContents& contents) {
  if (contents.curves.empty()) return "";
  return "<section>\n<h2>The best candidates</h2>\n" +
         figure("candidates", 0, "Validation loss by epoch, on the first fold",
                "<label><input type=\"checkbox\" class=\"log\"> logarithmic</label>") +
         "</section>\n";
}

std::string table_section(const SweepContents& contents) {
  std::string head = "<th>Trial</th><th>Status</th><th class=\"number\">" + html_escaped(contents.metric) +
                     "</th><th class=\"number\">Epochs</th><th class=\"number\">Time</th>";
  for (const SweepContents::Setting& setting : contents.settings)
    head += "<th>" + html_escaped(setting.name) + "</th>";
  std::string rows;
  const std::vector<std::size_t> ranking = contents.ranking();
  for (std::size_t i = 0; i < std::min(most_table_rows, ranking.size()); ++i) {
    const SweepContents::Trial& trial = contents.trials[ranking[i]];
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
        "class=\"number\">{}</td>",
        trial.number, html_escaped(trial.reason.empty() ? trial.status : trial.status + ": " + trial.reason),
        score_text(trial, contents.folds > 0), trial.epochs, human_seconds(std::max(0.0, trial.seconds)));
    for (const std::string& value : trial.values) rows += "<td>" + html_escaped(value) + "</td>";
    rows += "</tr>\n";
  }
  const std::string rest =
      ranking.size() > most_table_rows
          ? fmt::format("<p class=\"hint\">The best {} of {}; trials.csv has all of them.</p>\n",
                        most_table_rows, ranking.size())
          : std::string();
  return fmt::format(
      "<section>\n<h2>Trials</h2>\n<div class=\"scroll\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}"
      "</tbody></table></div>\n{}</section>\n",
      head, rows, rest);
}

json rounded(double value) {
  return std::isfinite(value) ? json(std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr)) : json();
}

// Sorted by the setting's value: the plot wants its x that way.
json score_data(const SweepContents& contents, const SweepContents::Setting& setting) {
  std::vector<std::size_t> order = contents.ranking();
  order.resize(std::min(order.size(), most_points));
  std::erase_if(order, [&](std::size_t i) { return !contents.trials[i].score; });
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return setting.x[a] < setting.x[b]; });
  json data{{"setting", setting.name}, {"log", setting.wants_log_axis}, {"labels", nullptr},
            {"xs", json::array()},     {"finished", json::array()},     {"pruned", json::array()},
            {"best", json(nullptr)}};
  if (!setting.labels.empty()) data["labels"] = setting.labels;
  if (setting.is_drawn_by_logarithm) data["by_logarithm"] = true;
  for (const std::size_t i : order) {
    const bool pruned = contents.trials[i].status == "pruned";
    data["xs"].push_back(rounded(setting.x[i]));
    data["finished"].push_back(pruned ? json() : rounded(*contents.trials[i].score));
    data["pruned"].push_back(pruned ? rounded(*contents.trials[i].score) : json());
    if (contents.trials[i].number == contents.winner) data["best"] = rounded(setting.x[i]);
  }
  return data;
}

std::string data_of(const SweepContents& contents) {
  json data{{"metric", contents.metric},
            {"scores", json::array()},
            {"candidates", json::array()},
            {"curves", json::array()}};
  for (const SweepContents::Setting& setting : contents.settings)
    data["scores"].push_back(score_data(contents, setting));
  for (const SweepContents::Curve& curve : contents.curves) {
    json losses = json::array();
    for (const double loss : curve.losses) losses.push_back(rounded(loss));
    data["candidates"].push_back({{"trial", curve.trial}, {"epochs", curve.epochs}, {"losses", losses}});
  }
  return for_script(data.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace

void write_sweep_report(const std::filesystem::path& folder) {
  const SweepContents contents = read_sweep_contents(folder);
  RunContents run = read_contents({folder});
  std::error_code error;
  if (std::filesystem::is_regular_file(folder / "sweep.yaml", error))
    run.document = read_file(folder / "sweep.yaml", 4U << 20);
  std::string body = title_section(run) + error_section(run.record) + summary_section(contents, folder) +
                     warnings_section(run) + score_section(contents) + curves_section(contents) +
                     table_section(contents) + machine_section(run.record) + document_section(run);
  body += "<footer>Written by Stoker " + html_escaped(run.record.stoker_version) + "</footer>";
  write_file(folder / "report.html", whole_page(run.record.name, body, data_of(contents)));
}

}  // namespace stoker
