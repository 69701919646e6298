#include "serve/models/served_models.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/project_scope.h"
#include "base/text/text.h"
#include "data/cubes/cube_rows.h"
#include "predict/decide/intervals.h"
#include "serve/access/client_words.h"
#include "serve/jobs/job_queue.h"
#include "serve/system/log.h"
#include "store/runs.h"
#include "store/token_store.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

json columns_of_model(const Model& model) {
  json columns = json::array();
  std::string last;
  for (const PreparedColumn& column : model.preparation.columns()) {
    if (column.name == last) continue;  // what a column becomes stands side by side
    last = column.name;
    const bool is_date = column.part != DatePart::none || !column.date_form.empty();
    columns.push_back({{"name", column.name},
                       {"type", column.is_text() ? "text"
                                : is_date        ? "date"
                                                 : "number"}});
    if (!column.date_form.empty()) columns.back()["form"] = column.date_form;
  }
  return columns;
}

std::string key_of(const std::string& name) {
  return ProjectScope::or_default() + "/" + name;
}

constexpr double usual_interval = 0.9;

json facts_of_model(const Model& model) {
  json facts{{"family", model.type()},
             {"task", config::name_of(model.preparation.task())},
             {"target", model.preparation.target_column()},
             {"columns", columns_of_model(model)},
             {"parameters", parameter_count(model)}};
  if (model.is_ensemble()) facts["members"] = model.members.size();
  constexpr std::size_t most_classes_told = 100;
  const auto& classes = model.preparation.classes();
  if (!classes.empty() && classes.size() <= most_classes_told) facts["classes"] = classes;
  if (!classes.empty()) facts["class_count"] = classes.size();
  if (model.preparation.steps() > 1) facts["steps"] = model.preparation.steps();
  if (const CubesRead* cubes = model.preparation.cubes())
    facts["cubes"] = {{"channels", cubes->channels}, {"wavelengths", cubes->wavelengths}};
  const std::string why_not = RowPredictor::problem_with(model);
  facts["predicts_from_memory"] = why_not.empty();
  if (!why_not.empty()) facts["why_not_from_memory"] = why_not;
  const std::string no_intervals = problem_with_intervals(model, usual_interval);
  facts["tells_intervals"] = no_intervals.empty();
  if (!no_intervals.empty()) facts["why_no_intervals"] = without_options(no_intervals);
  return facts;
}

// Records of earlier versions name the card that trained the model, those before them neither.
bool is_measured_in(const RunRecord::Result& result, const std::string& folder,
                    const std::vector<std::string>& folders) {
  if (!result.model.empty()) return result.model == folder;
  if (result.training.empty()) return folders.size() == 1;
  const std::string own_folder = "model-" + result.training;
  if (std::ranges::find(folders, own_folder) != folders.end()) return own_folder == folder;
  return folder == RunPaths{}.model().string();
}

// By the card that evaluated the model in this folder of the run.
json metrics_of_model(const RunRecord& run, const std::string& folder,
                      const std::vector<std::string>& folders) {
  json metrics = json::object();
  for (const RunRecord::Result& result : run.results)
    if (is_measured_in(result, folder, folders))
      for (const auto& [metric, value] : result.metrics) metrics[result.card][metric] = number_to_json(value);
  return metrics;
}

}  // namespace

void ServedModels::read_names() {
  const auto all = models_.deployments();
  const std::lock_guard lock(mutex_);
  names_.clear();
  for (const DeploymentRecord& each : all) names_[each.project + "/" + each.name] = each.model;
}

std::shared_ptr<const ServedModel> ServedModels::load(const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(id); found != kept_.end()) {
      turns_.splice(turns_.begin(), turns_, found->second.turn);
      return found->second.model;
    }
  }
  const auto record = models_.find(id);
  if (!record) throw NotFound(fmt::format("there is no model '{}'", printable(id)));
  auto served = std::make_shared<ServedModel>();
  served->record = *record;
  auto model = std::make_shared<const Model>(load_model(record->folder));
  served->why_not = RowPredictor::problem_with(*model);
  served->reads_cubes = model->preparation.cubes() != nullptr;
  if (served->why_not.empty()) served->predictor = std::make_shared<const RowPredictor>(std::move(model));
  const std::lock_guard lock(mutex_);
  keep(id, served);
  return served;
}

void ServedModels::keep(const std::string& id, const std::shared_ptr<const ServedModel>& model) {
  if (kept_.contains(id)) return;  // somebody else was faster
  turns_.push_front(id);
  kept_[id] = {model, turns_.begin()};
  bytes_ += model->record.bytes;
  while (bytes_ > most_bytes_ && turns_.size() > 1) {
    const auto last = kept_.find(turns_.back());
    bytes_ -= last->second.model->record.bytes;
    kept_.erase(last);
    turns_.pop_back();
  }
}

void ServedModels::deploy(const DeploymentRecord& deployment) {
  // One in memory may be another project's.
  if (models_.find(deployment.model)) load(deployment.model);
  if (!models_.deploy(deployment))
    throw NotFound(fmt::format("there is no model '{}'", printable(deployment.model)));
  const std::lock_guard lock(mutex_);
  names_[key_of(deployment.name)] = deployment.model;
}

bool ServedModels::withdraw(const std::string& name) {
  const bool was_there = models_.withdraw(name);
  const std::lock_guard lock(mutex_);
  names_.erase(key_of(name));
  return was_there;
}

std::shared_ptr<const ServedModel> ServedModels::find(const std::string& name_or_id) {
  std::string id;
  std::vector<std::string> others;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = names_.find(key_of(name_or_id)); found != names_.end()) id = found->second;
    const std::string own = key_of("");
    for (const auto& [each, model] : names_)
      if (each.starts_with(own)) others.push_back(each.substr(own.size()));
  }
  if (id.empty() && models_.find(name_or_id)) id = name_or_id;
  if (id.empty())
    throw NotFound(
        fmt::format("no model is deployed under the name '{}', and none has this id{}; PUT "
                    "/api/models/deployments/NAME gives a model a name",
                    printable(name_or_id), did_you_mean(name_or_id, others)));
  return load(id);
}

std::shared_ptr<const ServedModel> ServedModels::if_loaded(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto id = names_.find(key_of(name));
  if (id == names_.end()) return nullptr;
  const auto found = kept_.find(id->second);
  return found == kept_.end() ? nullptr : found->second.model;
}

ModelRecord model_record(const std::filesystem::path& folder, const std::string& name) {
  ModelRecord record;
  record.id = random_id();
  record.name = name;
  record.folder = folder.string();
  record.bytes = folder_bytes(folder);
  record.facts = facts_of_model(load_model(folder));
  record.created = time_stamp_utc();
  return record;
}

namespace {

constexpr const char* folder_fact = "folder_in_run";

// Of a run, the names of the folders that have its models: model, model-CARD.
std::vector<std::string> model_folders_in(const std::filesystem::path& run_folder) {
  std::error_code none;
  std::vector<std::string> names;
  if (std::filesystem::is_directory(RunPaths{run_folder}.model(), none)) names.emplace_back("model");
  for (const auto& each : std::filesystem::directory_iterator(run_folder, none))
    if (each.path().filename().string().starts_with("model-")) names.push_back(each.path().filename());
  return names;
}

}  // namespace

void record_model_of(const std::string& job, const std::string& name, const std::filesystem::path& run_folder,
                     ModelStore& models) {
  const std::vector<std::string> folders = model_folders_in(run_folder);
  if (folders.empty()) return;
  const RunRecord told = read_record({run_folder});
  for (const std::string& folder : folders) {
    const std::string card = folder == "model" ? "" : folder.substr(6);
    ModelRecord record =
        model_record(run_folder / folder, card.empty() ? name : fmt::format("{} ({})", name, card));
    record.job = job;
    record.facts["run"] = run_folder.filename().string();
    record.facts[folder_fact] = folder;
    record.facts["metrics"] = metrics_of_model(told, folder, folders);
    models.add(record);
  }
}

void correct_metrics(ModelStore& models) {
  constexpr std::int64_t page = 500;
  for (std::int64_t offset = 0;; offset += page) {
    const std::vector<ModelRecord> some = models.list(page, offset);
    if (some.empty()) return;
    for (const ModelRecord& model : some) {
      if (model.job.empty() || model.facts.contains(folder_fact)) continue;
      const std::filesystem::path folder = model.folder;
      try {
        json facts = model.facts;
        facts[folder_fact] = folder.filename().string();
        facts["metrics"] = metrics_of_model(read_record({folder.parent_path()}), folder.filename(),
                                            model_folders_in(folder.parent_path()));
        models.change_facts(model.id, facts);
      } catch (const Error& error) {
        log_event("error", {{"what", "the metrics of a model are as an earlier version recorded them"},
                            {"id", model.id},
                            {"why", error.what()}});
      }
    }
  }
}

}  // namespace stoker::serve
