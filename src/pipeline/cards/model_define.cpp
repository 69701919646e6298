#include "pipeline/cards/cards.h"
#include "pipeline/document/model_definition.h"

namespace stoker::cards {
namespace {

// What both cards do, with the function that reads the settings of one.
template <auto read>
config::Value check_definition(const config::Value& config, const std::string& path,
                               config::Diagnostics& diagnostics) {
  return stoker::settings_of(read(config, path, diagnostics));
}

template <auto read>
ModelSpec spec_of(const config::Value& config) {
  config::Diagnostics diagnostics("");
  ModelSpec spec = read(config, "", diagnostics);
  diagnostics.refuse_if_any();
  return spec;
}

template <auto read>
PortValues define(const CardContext& context) {
  return {{"model_spec", spec_of<read>(context.config)}};
}

template <auto read>
CardType defining_card(const char* name, const char* title, const char* help) {
  return {.name = name,
          .title = title,
          .help = help,
          .inputs = {},
          .outputs = {{"model_spec", PortType::model_spec, "The model, not yet trained"}},
          .file_settings = {},
          .check = check_definition<read>,
          .run = define<read>,
          .spec = spec_of<read>};
}

}  // namespace

CardType model_define() {
  CardType card = defining_card<read_solved>(
      "model_define", "Define a linear model",
      "Chooses a linear model and its settings. Solved in double precision on the CPU.");
  card.describe = describe_solved;
  card.more_settings = settings_of_solved;
  return card;
}

CardType model_define_gpu() {
  CardType card = defining_card<read_trained>(
      "model_define_gpu", "Define a neural network",
      "Chooses a neural network and how it is trained. Runs on a GPU, or on the CPU if there is none.");
  card.describe = describe_trained;
  card.more_settings = settings_of_trained;
  card.first_settings = {"model_type",    "epochs",           "learning_rate", "batch_size",
                         "hidden_layers", "validation_ratio", "dropout"};
  card.only_with = {{"huber_delta", "loss", {"huber"}},
                    {"quantile", "loss", {"quantile"}},
                    {"momentum", "optimizer", {"sgd"}},
                    {"min_learning_rate", "schedule", {"cosine", "plateau", "exponential", "one_cycle"}},
                    {"step_epochs", "schedule", {"step"}},
                    {"step_factor", "schedule", {"step", "plateau"}},
                    {"epoch_factor", "schedule", {"exponential"}},
                    {"plateau_patience", "schedule", {"plateau"}}};
  return card;
}

}  // namespace stoker::cards
