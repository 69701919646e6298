#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "predict/rows/row_predictor.h"
#include "store/model_store.h"

namespace stoker::serve {

// A model as it predicts.
struct ServedModel {
  ModelRecord record;
  std::shared_ptr<const RowPredictor> predictor;  // null: a process of its own predicts
  std::string why_not;                            // then
  bool reads_cubes = false;                       // in place of rows
};

// Models that are deployed under names, loaded when they are first asked for and kept as long as there is
// room; those that were not asked for longest go first. Who has one in hand keeps it, whatever its name
// stands for by then. Each project has names of its own; meant is that which the thread works in. Usable from
// several threads.
class ServedModels {
 public:
  ServedModels(ModelStore& models, std::uint64_t most_bytes) : models_(models), most_bytes_(most_bytes) {}

  void read_names();  // from the store
  // From now on the name stands for this model, which is loaded first. Throws NotFound, and refuses a model
  // that cannot be loaded.
  void deploy(const DeploymentRecord& deployment);
  bool withdraw(const std::string& name);
  // The model that is deployed under the name; if there is none, the model with this id. Throws NotFound if
  // there is neither.
  std::shared_ptr<const ServedModel> find(const std::string& name_or_id);
  std::shared_ptr<const ServedModel> if_loaded(const std::string& name);  // null: not now

 private:
  std::shared_ptr<const ServedModel> load(const std::string& id);
  void keep(const std::string& id, const std::shared_ptr<const ServedModel>& model);

  ModelStore& models_;
  std::uint64_t most_bytes_;
  std::mutex mutex_;                          // of what follows
  std::map<std::string, std::string> names_;  // of all projects: PROJECT/NAME
  struct Kept {
    std::shared_ptr<const ServedModel> model;
    std::list<std::string>::iterator turn;
  };
  std::map<std::string, Kept> kept_;
  std::list<std::string> turns_;  // ids, the last one that was asked for in front
  std::uint64_t bytes_ = 0;
};

// What goes on record of a model folder, under a new id.
ModelRecord model_record(const std::filesystem::path& folder, const std::string& name);

// Puts what a completed job has trained on record. Does nothing where it is already, or where there is none.
void record_model_of(const std::string& job, const std::string& name, const std::filesystem::path& run_folder,
                     ModelStore& models);
// Earlier versions recorded the metrics of all models of a run with each of them.
void correct_metrics(ModelStore& models);

}  // namespace stoker::serve
