#include "pipeline/document/trainrun_form.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "config/quote.h"
#include "model/nodes/nodes.h"

namespace stoker {
namespace {

using config::Diagnostics;
using config::Entry;
using config::Value;

bool is_graph(const Value& document) {
  const Value* nodes = document.find("nodes");
  const auto* list = nodes == nullptr ? nullptr : nodes->get_if<Value::List>();
  if (list == nullptr || list->empty() || document.find("edges") != nullptr) return false;
  return document.find("connections") != nullptr || list->front().find("class_name") != nullptr;
}

const std::string* text_under(const Value& map, std::string_view key) {
  const Value* value = map.find(key);
  return value == nullptr ? nullptr : value->get_if<std::string>();
}

class TrainrunForm {
 public:
  TrainrunForm(const Value& document, Diagnostics& diagnostics)
      : document_(document), diagnostics_(diagnostics) {}

  Value converted() {
    const Value* pipeline = is_graph(document_) ? &document_ : document_.find("pipeline");
    const Value* nodes = pipeline->get_if<Value::Map>() == nullptr ? nullptr : pipeline->find("nodes");
    if (nodes == nullptr || nodes->get_if<Value::List>() == nullptr) {
      add_error(pipeline->line(), "pipeline",
                "must be a graph with a list of nodes; a file with one is read for documents on disk alone");
      return document_;
    }
    read_data();
    read_training();
    read_graph(*pipeline);
    tell_of_others();
    return assembled();
  }

 private:
  void add_error(int line, const std::string& path, std::string message) {
    diagnostics_.add(line, path, std::move(message));
  }
  // Entries of a map, or none; what is something else is wrong.
  const Value::Map& entries_of(const Value* value, const std::string& path) {
    static const Value::Map none;
    if (value == nullptr || value->is_null()) return none;
    if (const auto* map = value->get_if<Value::Map>()) return *map;
    add_error(value->line(), path, "must be a map of settings, found " + value->describe());
    return none;
  }
  std::vector<std::string> texts_at(const char* key) {
    std::vector<std::string> texts;
    const Value* value = document_.find(key);
    if (value == nullptr || value->is_null()) return texts;
    const auto* list = value->get_if<Value::List>();
    if (list == nullptr) {
      add_error(value->line(), key, "must be a list of names of nodes, found " + value->describe());
      return texts;
    }
    for (const Value& each : *list)
      if (const auto* text = each.get_if<std::string>())
        texts.push_back(*text);
      else
        add_error(each.line(), key, "must name nodes, found " + each.describe());
    return texts;
  }
  void note(const Value& value, const std::string& path, std::string message) {
    diagnostics_.note(value.line(), path, std::move(message));
  }

  void read_data() {
    const Value* data = document_.find("data");
    if (data == nullptr || data->get_if<Value::Map>() == nullptr)
      return add_error(document_.line(), "data",
                       "which cubes are trained on is not said; add data: { path: CUBES, batch_size: 4 }");
    load_.set("source", Value("cubes", data->line()));
    std::array<Value::List, 3> ids;
    for (const Entry& entry : *data->get_if<Value::Map>()) {
      const std::string path = "data." + entry.key;
      if (entry.key == "cu3s_file_path" || entry.key == "path")
        load_.set("path", entry.value);
      else if (entry.key == "batch_size")
        model_.set("batch_size", entry.value);
      else if (entry.key == "train_ids" || entry.key == "val_ids" || entry.key == "test_ids")
        ids[entry.key == "train_ids" ? 0 : entry.key == "val_ids" ? 1 : 2] = ids_in(entry.value, path);
      else if (entry.key == "splits" || entry.key == "num_workers" || entry.key == "pin_memory")
        note(entry.value, path, "means nothing here: cubes are read once, and divided by data_split");
      else
        load_.set(entry.key, entry.value);
    }
    divide(*data, ids);
  }

  Value::List ids_in(const Value& value, const std::string& path) {
    if (value.is_null()) return {};
    if (const auto* list = value.get_if<Value::List>()) return *list;
    add_error(value.line(), path, "must be a list of ids, found " + value.describe());
    return {};
  }

  // Ids number the measurements of a session, which are the cubes in their order, from 0. The training card
  // takes validation cubes out of those that the split leaves it.
  void divide(const Value& data, const std::array<Value::List, 3>& ids) {
    if (ids[0].empty() && ids[1].empty() && ids[2].empty()) return;
    if (ids[0].empty())
      return note(data, "data", "train_ids are not named, so four of five cubes are trained on");
    Value::List trained_on = ids[0];
    trained_on.insert(trained_on.end(), ids[1].begin(), ids[1].end());
    if (!ids[1].empty()) model_.set("validation_ids", Value(ids[1], data.line()));
    split_.set("train_ids", Value(std::move(trained_on), data.line()));
    if (!ids[2].empty()) split_.set("test_ids", Value(ids[2], data.line()));
    is_evaluated_ = !ids[2].empty();
    if (!is_evaluated_) note(data, "data.test_ids", "no cubes are held back, so nothing is evaluated");
  }

  void read_training() {
    for (const Entry& entry : entries_of(document_.find("training"), "training")) {
      const std::string path = "training." + entry.key;
      if (entry.key == "seed")
        set_seed(entry.value);
      else if (entry.key == "trainer")
        read_trainer(entry.value, path);
      else if (entry.key == "optimizer")
        read_optimizer(entry.value, path);
      else if (entry.key == "scheduler")
        read_scheduler(entry.value, path);
      else if (entry.key == "batch_size")
        model_.set("batch_size", entry.value);
      else if (!read_trainer_setting(entry, path))
        note(entry.value, path, "means nothing here");
    }
  }

  void set_seed(const Value& value) {
    model_.set("seed", value);
    split_.set("random_seed", value);
  }

  void read_trainer(const Value& trainer, const std::string& path) {
    for (const Entry& entry : entries_of(&trainer, path))
      if (!read_trainer_setting(entry, path + "." + entry.key))
        note(entry.value, path + "." + entry.key, "means nothing here");
  }

  bool read_trainer_setting(const Entry& entry, const std::string& path) {
    const Value& value = entry.value;
    if (value.is_null()) return true;
    if (entry.key == "max_epochs") {
      model_.set("epochs", value);
    } else if (entry.key == "accelerator") {
      const auto* text = value.get_if<std::string>();
      if (text == nullptr)
        add_error(value.line(), path, "must be cpu, gpu or auto, found " + value.describe());
      train_.set("device", Value(text != nullptr && *text == "cpu" ? "cpu" : "auto", value.line()));
    } else if (entry.key == "precision") {
      const auto* text = value.get_if<std::string>();
      if (text == nullptr || !text->starts_with("32"))
        note(value, path, "graphs of nodes are computed in fp32, sums over pixels in double precision");
    } else if (entry.key == "gradient_clip_val") {
      model_.set("max_grad_norm", value);
    } else if (entry.key == "accumulate_grad_batches") {
      read_accumulation(value, path);
    } else if (entry.key == "callbacks") {
      read_callbacks(value, path);
    } else {
      return false;
    }
    return true;
  }

  // Lightning gathers so many batches; here it is a batch that is taken in parts.
  void read_accumulation(const Value& value, const std::string& path) {
    const auto* count = value.get_if<std::int64_t>();
    if (count == nullptr) add_error(value.line(), path, "must be a whole number, found " + value.describe());
    if (count != nullptr && *count > 1)
      note(value, path, "set a batch_size that many times as large instead, which is the same step");
  }

  void read_callbacks(const Value& callbacks, const std::string& path) {
    if (entries_of(&callbacks, path).empty()) return;
    const Value* stopping = callbacks.find("early_stopping");
    if (const auto* list = stopping == nullptr ? nullptr : stopping->get_if<Value::List>())
      stopping = list->empty() ? nullptr : &list->front();
    if (stopping != nullptr && stopping->find("patience") != nullptr) {
      model_.set("early_stopping_patience", *stopping->find("patience"));
      if (const Value* delta = stopping->find("min_delta")) model_.set("early_stopping_min_delta", *delta);
      note(*stopping, path + ".early_stopping", "the training stops by the sum of the validation losses");
    }
    const Value* checkpoint = callbacks.find("checkpoint");
    if (checkpoint == nullptr) checkpoint = callbacks.find("model_checkpoint");
    const Value* best = checkpoint == nullptr ? nullptr : checkpoint->find("save_top_k");
    const auto* count = best == nullptr ? nullptr : best->get_if<std::int64_t>();
    if (count != nullptr && *count > 0) train_.set("keep_best", *best);
    if (const Value* monitor = checkpoint == nullptr ? nullptr : checkpoint->find("monitor"))
      note(*monitor, path + ".checkpoint.monitor",
           "the best weights are those with the lowest sum of losses");
  }

  void read_optimizer(const Value& optimizer, const std::string& path) {
    for (const Entry& entry : entries_of(&optimizer, path)) {
      if (entry.key == "name")
        model_.set("optimizer", entry.value);
      else if (entry.key == "lr")
        model_.set("learning_rate", entry.value);
      else if (entry.key == "weight_decay" || entry.key == "momentum")
        model_.set(entry.key, entry.value);
      else if (entry.key == "scheduler")
        read_scheduler(entry.value, path + ".scheduler");
      else if (!entry.value.is_null())
        note(entry.value, path + "." + entry.key, "is always that of torch");
    }
  }

  void read_scheduler(const Value& scheduler, const std::string& path) {
    if (entries_of(&scheduler, path).empty()) return;
    const std::string* name = text_under(scheduler, "name");
    if (name == nullptr)
      return add_error(scheduler.line(), path, "which schedule it is must stand in its name, such as cosine");
    static constexpr std::array<std::pair<std::string_view, const char*>, 6> known{
        {{"reduce_on_plateau", "plateau"},
         {"cosine", "cosine"},
         {"cosine_annealing", "cosine"},
         {"step", "step"},
         {"step_lr", "step"},
         {"exponential", "exponential"}}};
    const auto found = std::ranges::find(known, *name, &std::pair<std::string_view, const char*>::first);
    if (found == known.end())
      return note(scheduler, path,
                  fmt::format("there is no schedule {}: the learning rate stays", config::in_quotes(*name)));
    model_.set("schedule", Value(found->second, scheduler.line()));
    const std::string schedule = found->second;
    const auto copy = [&](const char* from, const char* to) {
      if (const Value* value = scheduler.find(from); value != nullptr && !value->is_null())
        model_.set(to, *value);
    };
    copy("min_lr", "min_learning_rate");
    copy("eta_min", "min_learning_rate");
    copy("step_size", "step_epochs");
    if (schedule == "plateau") copy("patience", "plateau_patience");
    if (schedule == "plateau") copy("factor", "step_factor");
    copy("gamma", schedule == "step" ? "step_factor" : "epoch_factor");
    if (const Value* monitor = scheduler.find("monitor"))
      note(*monitor, path + ".monitor", "the schedule goes by the sum of the validation losses");
  }

  static bool is_loss(const Value& node) {
    const nodes::NodeType* type = nodes::type_of_written(node);
    return type != nullptr && type->kind == nodes::NodeKind::loss;
  }

  // "" of any other node. One without a name is called as its type.
  static std::string name_of_monitor(const Value& node) {
    const std::string* type = text_under(node, "class_name");
    if (type == nullptr) type = text_under(node, "type");
    if (type == nullptr || nodes::type_of_written(node) != nullptr || !nodes::is_left_to_the_report(*type))
      return "";
    const std::string* name = text_under(node, "name");
    return name != nullptr ? *name : type->substr(type->rfind('.') + 1);
  }

  // Where losses are named, others do not count.
  void read_graph(const Value& graph) {
    const std::vector<std::string> losses = texts_at("loss_nodes");
    std::set<std::string> left_out;
    Value::List kept;
    for (const Value& node : *graph.find("nodes")->get_if<Value::List>()) {
      if (const std::string monitor = name_of_monitor(node); !monitor.empty()) {
        left_out.insert(monitor);
        note(node, "nodes",
             fmt::format("{} is left out: a run draws its own pictures, and tensorboard of the card train "
                         "writes files for TensorBoard",
                         monitor));
        continue;
      }
      const std::string* name = text_under(node, "name");
      const bool counts = losses.empty() || name == nullptr || !is_loss(node) ||
                          std::ranges::find(losses, *name) != losses.end();
      if (counts) {
        kept.push_back(node);
        continue;
      }
      left_out.insert(*name);
      note(node, "loss_nodes", fmt::format("{} is left out: it is not among them", *name));
    }
    model_.set("nodes", Value(std::move(kept), graph.line()));
    if (const Value* connections = graph.find("connections"))
      model_.set("connections", without(*connections, left_out));
    read_unfrozen();
  }

  static Value without(const Value& connections, const std::set<std::string>& left_out) {
    const auto* list = connections.get_if<Value::List>();
    if (list == nullptr || left_out.empty()) return connections;
    Value::List kept;
    for (const Value& each : *list) {
      const bool is_kept = std::ranges::none_of(left_out, [&](const std::string& name) {
        const std::string* source = text_under(each, "source");
        const std::string* target = text_under(each, "target");
        return (source != nullptr && source->starts_with(name + ".")) ||
               (target != nullptr && target->starts_with(name + "."));
      });
      if (is_kept) kept.push_back(each);
    }
    return Value(std::move(kept), connections.line());
  }

  void read_unfrozen() {
    const Value* given = document_.find("unfreeze_nodes");
    if (given == nullptr) return;
    const std::vector<std::string> frozen = texts_at("freeze_nodes");
    Value::List unfrozen;
    for (const std::string& name : texts_at("unfreeze_nodes"))
      if (std::ranges::find(frozen, name) == frozen.end()) unfrozen.emplace_back(name, given->line());
    model_.set("unfrozen", Value(std::move(unfrozen), given->line()));
  }

  void tell_of_others() {
    static constexpr std::array<std::string_view, 13> known{
        "name",         "pipeline",       "data",         "training",   "loss_nodes",
        "metric_nodes", "unfreeze_nodes", "freeze_nodes", "output_dir", "connections",
        "nodes",        "metadata",       "defaults"};
    for (const Entry& entry : *document_.get_if<Value::Map>()) {
      if (entry.key == "output_dir")
        note(entry.value, entry.key, "means nothing here: stoker run --out DIR says where runs go");
      else if (std::ranges::find(known, entry.key) == known.end())
        note(entry.value, entry.key, "means nothing here");
    }
  }

  static Value card(const char* type, Value inputs, Value config, int line) {
    Value made(Value::Map{}, line);
    made.set("type", Value(type, line));
    if (!inputs.is_null()) made.set("inputs", std::move(inputs));
    if (!config.is_null()) made.set("config", std::move(config));
    return made;
  }
  static Value inputs(std::initializer_list<std::pair<const char*, const char*>> ports, int line) {
    Value made(Value::Map{}, line);
    for (const auto& [port, from] : ports) made.set(port, Value(from, line));
    return made;
  }

  Value assembled() {
    const int line = document_.line();
    model_.set("model_type", Value("node_graph", line));
    train_.set("target_column", Value("mask", line));
    Value cards(Value::Map{}, line);
    cards.set("load", card("data_load", {}, load_, line));
    cards.set("split", card("data_split", inputs({{"dataset", "load.dataset"}}, line), split_, line));
    cards.set("model", card("model_define_gpu", {}, model_, line));
    cards.set(
        "train",
        card("train",
             inputs({{"train_dataset", "split.train_dataset"}, {"model_spec", "model.model_spec"}}, line),
             train_, line));
    if (is_evaluated_)
      cards.set(
          "evaluate",
          card("evaluate",
               inputs({{"trained_model", "train.trained_model"}, {"test_dataset", "split.test_dataset"}},
                      line),
               {}, line));
    Value result(Value::Map{}, line);
    result.set("version", Value(1, line));
    if (const Value* name = document_.find("name")) result.set("name", *name);
    result.set("cards", std::move(cards));
    return result;
  }

  const Value& document_;
  Diagnostics& diagnostics_;
  Value load_, split_, model_, train_;
  bool is_evaluated_ = true;  // some cubes are held back
};

}  // namespace

bool is_trainrun_form(const Value& document) {
  if (document.get_if<Value::Map>() == nullptr || document.find("cards") != nullptr) return false;
  return is_graph(document) || document.find("pipeline") != nullptr;
}

Value from_trainrun_form(const Value& document, Diagnostics& diagnostics) {
  return TrainrunForm(document, diagnostics).converted();
}

}  // namespace stoker
