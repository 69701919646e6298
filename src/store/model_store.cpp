#include "store/model_store.h"

#include <fmt/format.h>

#include "database/writable.h"
#include "store/in_project.h"
#include "store/record/record_values.h"

namespace stoker {
namespace {

constexpr const char* model_columns = "id, name, folder, job, bytes, facts, created, project";

ModelRecord model_in(const database::WrittenRow& row) {
  ModelRecord model;
  model.id = row.at(0).value_or("");
  model.name = row.at(1).value_or("");
  model.folder = row.at(2).value_or("");
  model.job = row.at(3).value_or("");
  model.bytes = static_cast<std::uint64_t>(whole_in(row.at(4)));
  model.facts = nlohmann::json::parse(row.at(5).value_or("{}"), nullptr, false);
  if (!model.facts.is_object()) model.facts = nlohmann::json::object();
  model.created = row.at(6).value_or("");
  model.project = row.at(7).value_or("");
  return model;
}

std::vector<ModelRecord> models_in(const std::vector<database::WrittenRow>& rows) {
  std::vector<ModelRecord> models;
  for (const database::WrittenRow& row : rows) models.push_back(model_in(row));
  return models;
}

}  // namespace

bool ModelStore::add(const ModelRecord& model) {
  const auto held = records_.hold();
  database::Transaction all(records_.to_write());
  if (!records_.to_write().run("SELECT 1 FROM stoker_models WHERE folder = $1", {model.folder}).empty())
    return false;
  records_.to_write().run(
      fmt::format("INSERT INTO stoker_models ({}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", model_columns),
      {model.id, model.name, model.folder, or_null(model.job), std::to_string(model.bytes),
       dumped(model.facts), model.created,
       model.project.empty() ? ProjectScope::or_default() : model.project});
  all.commit();
  return true;
}

std::optional<ModelRecord> ModelStore::find(const std::string& id) {
  const auto held = records_.hold();
  const auto rows = records_.to_write().run(
      fmt::format("SELECT {} FROM stoker_models WHERE id = $1{}", model_columns, and_in_project()), {id});
  if (rows.empty()) return std::nullopt;
  return model_in(rows.front());
}

std::vector<ModelRecord> ModelStore::list(std::int64_t limit, std::int64_t offset) {
  const auto held = records_.hold();
  return models_in(records_.to_write().run(
      fmt::format("SELECT {} FROM stoker_models WHERE 1 = 1{} ORDER BY created DESC, id LIMIT {} OFFSET {}",
                  model_columns, and_in_project(), limit, offset)));
}

std::vector<ModelRecord> ModelStore::of_job(const std::string& job) {
  const auto held = records_.hold();
  return models_in(
      records_.to_write().run(fmt::format("SELECT {} FROM stoker_models WHERE job = $1{} ORDER BY id",
                                          model_columns, and_in_project()),
                              {job}));
}

std::int64_t ModelStore::count() {
  const auto held = records_.hold();
  return whole_in(records_.to_write()
                      .run("SELECT count(*) FROM stoker_models WHERE 1 = 1" + and_in_project())
                      .at(0)
                      .at(0));
}

void ModelStore::change_facts(const std::string& id, const nlohmann::json& facts) {
  const auto held = records_.hold();
  database::Transaction all(records_.to_write());
  records_.to_write().run("UPDATE stoker_models SET facts = $2 WHERE id = $1" + and_in_project(),
                          {id, dumped(facts)});
  all.commit();
}

bool ModelStore::rename(const std::string& id, const std::string& name) {
  const auto held = records_.hold();
  database::Transaction all(records_.to_write());
  if (!find(id)) return false;
  records_.to_write().run("UPDATE stoker_models SET name = $2 WHERE id = $1" + and_in_project(), {id, name});
  all.commit();
  return true;
}

bool ModelStore::remove(const std::string& id) {
  const auto held = records_.hold();
  database::Transaction all(records_.to_write());
  if (!names_of(id).empty()) return false;
  records_.to_write().run("DELETE FROM stoker_models WHERE id = $1" + and_in_project(), {id});
  all.commit();
  return true;
}

bool ModelStore::deploy(const DeploymentRecord& deployment) {
  const auto held = records_.hold();
  database::Transaction all(records_.to_write());
  const auto model = find(deployment.model);
  if (!model) return false;
  records_.to_write().run("DELETE FROM stoker_deployments WHERE name = $1 AND project = $2",
                          {deployment.name, model->project});
  records_.to_write().run(
      "INSERT INTO stoker_deployments (name, model, deployed, project) VALUES ($1, $2, $3, $4)",
      {deployment.name, deployment.model, deployment.deployed, model->project});
  all.commit();
  return true;
}

bool ModelStore::withdraw(const std::string& name) {
  const auto held = records_.hold();
  database::Transaction all(records_.to_write());
  const std::string project = ProjectScope::or_default();
  if (records_.to_write()
          .run("SELECT 1 FROM stoker_deployments WHERE name = $1 AND project = $2", {name, project})
          .empty())
    return false;
  records_.to_write().run("DELETE FROM stoker_deployments WHERE name = $1 AND project = $2", {name, project});
  all.commit();
  return true;
}

std::vector<DeploymentRecord> ModelStore::deployments() {
  const auto held = records_.hold();
  std::vector<DeploymentRecord> all;
  for (const database::WrittenRow& row :
       records_.to_write().run("SELECT name, model, deployed, project FROM stoker_deployments WHERE 1 = 1" +
                               and_in_project() + " ORDER BY name"))
    all.push_back(
        {row.at(0).value_or(""), row.at(1).value_or(""), row.at(2).value_or(""), row.at(3).value_or("")});
  return all;
}

std::vector<std::string> ModelStore::names_of(const std::string& model) {
  const auto held = records_.hold();
  std::vector<std::string> names;
  for (const database::WrittenRow& row : records_.to_write().run(
           "SELECT name FROM stoker_deployments WHERE model = $1" + and_in_project() + " ORDER BY name",
           {model}))
    names.push_back(row.at(0).value_or(""));
  return names;
}

}  // namespace stoker
