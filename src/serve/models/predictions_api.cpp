#include <algorithm>
#include <charconv>
#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "predict/measure/gaps.h"
#include "predict/rows/predictions_json.h"
#include "serve/jobs/program_run.h"
#include "serve/models/prediction_rows.h"
#include "serve/service.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

constexpr std::uint64_t most_prediction_bytes = std::uint64_t{16} << 20;
constexpr auto longest_prediction = std::chrono::seconds(120);

bool sends_csv(const Request& request) {
  return request.header("content-type").starts_with("text/csv");
}
bool wants_csv(const Request& request) {
  return request.header("accept").find("text/csv") != std::string_view::npos;
}
// Whether the request asks for nothing but what a model in memory tells.
bool is_plain_request(const Request& request) {
  const bool asks_nothing_else =
      std::ranges::all_of(request.query, [](const auto& parameter) { return parameter.first == "project"; });
  return asks_nothing_else && !sends_csv(request) && !wants_csv(request);
}

// `name` may be the id of a model that is not deployed.
void add_model(json& answer, const std::string& name, const ServedModel& served) {
  if (name != served.record.id) answer["deployment"] = name;
  answer["model"] = served.record.id;
}

Response predict_from_memory(const ServedModel& served, const std::string& name, const Request& request) {
  const RowPredictor& predictor = *served.predictor;
  const PredictionRows rows = rows_in_json(request.body, predictor.columns());
  json answer = to_json(predictor.predict(rows.cells), std::nullopt, predictor.model());
  add_gaps(answer, predictor.gaps(rows.cells));
  add_model(answer, name, served);
  if (!rows.unknown.empty()) answer["notes"] = {text_of_not_read(rows.unknown)};
  return json_response(answer);
}

// A value that is a list stands for the columns NAME_0, NAME_1, ….
void add_flat(const std::string& name, const json& value, json& line) {
  if (!value.is_array()) {
    line[name] = value;
    return;
  }
  for (std::size_t i = 0; i < value.size(); ++i) add_flat(fmt::format("{}_{}", name, i), value[i], line);
}

// One object to a line, as files of rows have it.
std::string json_lines_of(const json& body) {
  std::string text;
  if (body.is_object())
    for (const auto& [name, value] : body.items())
      if (name != "rows" && name != "columns" && name != "data") refuse_key(name);
  const auto add_line = [&](const json& line) {
    text += line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  };
  if (body.is_object() && body.size() == 1 && body.contains("rows") && body["rows"].is_array()) {
    for (const json& row : body["rows"]) {
      if (!row.is_object()) refuse_shape("a row is an object");
      json line = json::object();
      for (const auto& [name, value] : row.items()) add_flat(name, value, line);
      add_line(line);
    }
  } else if (body.is_object() && body.size() == 2 && body.contains("columns") && body.contains("data") &&
             body["columns"].is_array() && body["data"].is_array()) {
    for (const json& row : body["data"]) {
      if (!row.is_array() || row.size() != body["columns"].size())
        refuse_shape("a row of data has a value for each column");
      json line = json::object();
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (!body["columns"][i].is_string()) refuse_shape("the name of a column is text");
        add_flat(body["columns"][i], row[i], line);
      }
      add_line(line);
    }
  } else {
    refuse_shape("the body has another form");
  }
  if (text.empty()) throw HttpError(422, "there are no rows to predict");
  return text;
}

double percent_in(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || !(number >= 1 && number < 100))
    throw HttpError(400, "interval is a percentage from 1 to below 100, such as 90");
  return number;
}

// By `stoker predict`, in a process that is gone afterwards.
Response predict_by_program(Service& service, const ServedModel& served, const Call& call) {
  const TemporaryFolder folder;
  const bool is_csv = sends_csv(call.request);
  const std::filesystem::path file = folder.path() / (is_csv ? "rows.csv" : "rows.jsonl");
  if (is_csv && call.request.body.empty()) throw HttpError(400, "the request has no body; it takes rows");
  write_file(file, is_csv ? call.request.body : json_lines_of(call.json()));
  std::vector<std::string> words{service.config().program.string(), "predict", served.record.folder,
                                 file.string()};
  if (const std::string interval = call.text("interval"); !interval.empty())
    words.insert(words.end(), {"--interval", fmt::format("{}", percent_in(interval))});
  if (call.truth("every_window")) words.emplace_back("--every-window");
  const bool as_csv = wants_csv(call.request);
  if (!as_csv) words.emplace_back("--json");
  const NamedPaths names{{file.string(), "the rows"}, {served.record.folder, "the model"}};
  ProgramRun run = run_program(words, service.folder(), longest_prediction, names, &call);
  if (as_csv) {
    Response response;
    response.type = "text/csv; charset=utf-8";
    response.body = std::move(run.output);
    return response;
  }
  json answer = json::parse(run.output, nullptr, false);
  if (!answer.is_object()) fail("stoker predict answered something else than an object");
  // What it filled in is in the answer itself.
  for (const std::string& note : notes_of(run, names)) answer["notes"].push_back(note);
  add_model(answer, call.part("name"), served);
  return json_response(answer);
}

Response predict_rows(Service& service, Call& call) {
  const auto served = service.served().find(call.part("name"));
  if (served->reads_cubes)
    throw HttpError(422, fmt::format("the model scores the pixels of cubes: send them to "
                                     "POST /api/models/{}/predict/cubes",
                                     printable(call.part("name"))));
  if (served->predictor && is_plain_request(call.request))
    return predict_from_memory(*served, call.part("name"), call.request);
  return predict_by_program(service, *served, call);
}

// Rows that fit into some kilobytes, of a model that is there: well below a millisecond.
bool predicts_quickly(Service& service, const Request& request, const std::string& name) {
  constexpr std::size_t most_bytes = 8 * 1024;
  constexpr std::size_t least_bytes_of_row = 32;
  constexpr std::int64_t most_work = 1'000'000;
  if (!is_plain_request(request) || request.body.size() > most_bytes) return false;
  const auto served = service.served().if_loaded(name);
  if (!served || !served->predictor) return false;
  const auto rows = static_cast<std::int64_t>(1 + request.body.size() / least_bytes_of_row);
  return served->predictor->multiply_adds() <= most_work / rows;
}

}  // namespace

std::vector<Route> prediction_routes(Service& service) {
  const json row{{"type", "object"}, {"description", "Values by the names of their columns"}};
  Route predict{
      "POST",         "/api/models/{name}/predict",
      "predict",      "Predict rows with the model that is deployed under a name, or that has this id",
      Access::viewer, [&service](Call& call) { return predict_rows(service, call); }};
  predict.parameters = {
      {"interval",
       "Percent of the actual values that the intervals are to hold, where the model can tell it",
       {{"type", "number"}, {"minimum", 1}, {"exclusiveMaximum", 100}}},
      {"every_window", "Of a series: predict after each of its windows", {{"type", "boolean"}}}};
  predict.body = json{{"type", "object"},
                      {"properties",
                       {{"rows", {{"type", "array"}, {"items", row}}},
                        {"columns", {{"type", "array"}, {"items", {{"type", "string"}}}}},
                        {"data", {{"type", "array"}, {"items", {{"type", "array"}}}}}}}};
  predict.body_types = {"application/json", "text/csv"};
  predict.most_body = most_prediction_bytes;
  predict.answers = {{200, "Predictions in the order of the rows"},
                     {400, "No JSON, or a parameter is wrong"},
                     {404, "No model is deployed under this name or has this id"},
                     {422, "What is wrong with the rows"}};
  predict.is_quick = [&service](const Request& request, const std::map<std::string, std::string>& parts) {
    return predicts_quickly(service, request, parts.at("name"));
  };
  predict.changes_nothing = true;
  return {std::move(predict)};
}

}  // namespace stoker::serve
