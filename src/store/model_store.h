#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "store/records.h"

namespace stoker {

// A trained model on record. Its folder is the truth; what stands here is for lists.
struct ModelRecord {
  std::string id;
  std::string project;  // empty in add(): that of the thread
  std::string name;
  std::string folder;  // absolute
  std::string job;     // whose run has the folder; empty: it was uploaded
  std::uint64_t bytes = 0;
  nlohmann::json facts;  // family, columns, target, metrics, …
  std::string created;
};

// A name under which a model predicts.
struct DeploymentRecord {
  std::string name;  // each project has names of its own
  std::string model;
  std::string deployed;      // when
  std::string project = {};  // that of the model
};

class ModelStore {
 public:
  explicit ModelStore(Records& records) : records_(records) {}

  // False where the folder is on record already.
  bool add(const ModelRecord& model);
  std::optional<ModelRecord> find(const std::string& id);
  std::vector<ModelRecord> list(std::int64_t limit, std::int64_t offset);  // newest first
  std::vector<ModelRecord> of_job(const std::string& job);
  std::int64_t count();
  void change_facts(const std::string& id, const nlohmann::json& facts);
  bool rename(const std::string& id, const std::string& name);  // false: there is none
  // False where it is deployed, and nothing is removed.
  bool remove(const std::string& id);

  // From now on the name stands for this model, whatever it stood for before. False: there is no such model.
  bool deploy(const DeploymentRecord& deployment);
  bool withdraw(const std::string& name);  // false: there is none
  std::vector<DeploymentRecord> deployments();
  std::vector<std::string> names_of(const std::string& model);  // that it is deployed under

 private:
  Records& records_;
};

}  // namespace stoker
