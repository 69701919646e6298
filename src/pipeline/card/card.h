#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/process/stop.h"
#include "config/described.h"
#include "data/source/known_rows.h"
#include "pipeline/card/port.h"
#include "pipeline/cards/train_settings.h"
#include "pipeline/document/document.h"
#include "train/loop/progress.h"

namespace stoker {

// What a card reads from outside the document (a file's content), looked at before it runs.
struct Outside {
  std::string fingerprint;
  std::shared_ptr<void> opened;  // for run() to go on with, so that nothing is fetched twice
  KnownRows rows = {};           // for who keeps what is read; no key: it is known by the fingerprint alone
  bool is_known = false;         // from before, and nothing was fetched
  // To be told at every run, even where the output is kept from before.
  std::vector<std::string> warnings = {};
};

// Of the cubes of a source, before their numbers are read.
struct KnownCubes {
  std::int64_t channels = -1;
  std::vector<double> wavelengths;  // none where nobody told
};

// All that a card sees while it runs.
struct CardContext {
  const config::Value& config;  // checked, defaults written out
  const InputValues& inputs;
  const Outside& outside;
  const std::filesystem::path& document_folder;
  // The rows on which the model that this card trains is to be evaluated, as far as they are there already.
  std::vector<Table> tables_to_evaluate;
  std::filesystem::path checkpoints;  // of this card, inside the run folder
  bool resume = false;
  TrainingListener& listener;
  const StopSignal& stop;
  // To be called when the work that heeds `stop` has come back, so that a time limit does not cost its
  // result.
  std::function<void()> work_returned = [] {};
};

// A setting that means something only where another one has one of these values.
struct OnlyWith {
  std::string setting;
  std::string other;
  std::vector<std::string> values;
};

// A type of card, declared in one file of cards/ and listed in cards.cpp.
struct CardType {
  std::string name;
  int version = 1;  // raised when the same settings give another output
  std::string title;
  std::string help;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  // Settings that name a file. The fingerprint of its content stands for them in the card's identity, and a
  // document that is kept elsewhere holds them as absolute paths.
  std::vector<std::string> file_settings;
  // Settings that are addresses. The fingerprint stands for them too, and a document that is kept elsewhere
  // holds variables in place of what may be secret in them.
  std::vector<std::string> address_settings = {};
  // Settings that do not change what the card puts out; they are no part of its identity.
  std::vector<std::string> passing_settings = {};
  // Settings that name columns of the table that the card reads or, where it reads none, of its source; those
  // that are conditions on such columns; and those that name datasets on record.
  std::vector<std::string> column_settings = {};
  std::vector<std::string> condition_settings = {};
  std::vector<std::string> dataset_settings = {};
  // Settings that people look for first, in the order in which they do, those of `more_settings` among them.
  std::vector<std::string> first_settings = {};
  std::vector<OnlyWith> only_with = {};
  // These four may be those of one among many of a kind, such as the operator's commands, and then have to
  // know which.
  std::function<config::Described()> describe = nullptr;
  // Checks the settings and returns them with every default written out.
  std::function<config::Value(const config::Value& config, const std::string& path,
                              config::Diagnostics& diagnostics)>
      check = nullptr;
  // Null for a card that depends on its settings and inputs alone.
  // `find` has rows that are known from before, where somebody keeps them.
  std::function<Outside(const config::Value& config, const std::filesystem::path& document_folder,
                        const StopSignal& stop, const FindKnownRows& find)>
      look_outside = nullptr;
  std::function<PortValues(const CardContext& context)> run = nullptr;
  // For a card that infers types: its table once more, with these columns as the text they are. None where
  // there is nothing to infer.
  std::optional<Table> (*read_as_text)(const Outside& outside,
                                       const std::vector<std::string>& columns) = nullptr;
  // For a card that reads a table: its first rows, while run() may be reading all. None where they cannot be
  // had before.
  std::optional<Table> (*first_rows)(const Outside& outside) = nullptr;
  // For a card that reads a table from outside: what people call what it reads, without anything secret.
  std::string (*source_name)(const config::Value& config) = nullptr;
  // For such a card: its columns, where they are known without reading its rows. Refuses a source that is
  // known not to be there. Without a folder of the document, files are not looked at.
  std::optional<std::vector<std::string>> (*columns_of_source)(
      const config::Value& config, const std::filesystem::path* document_folder) = nullptr;
  // For such a card: the cubes that it reads, where that is known without reading their numbers.
  std::optional<KnownCubes> (*cubes_of_source)(const config::Value& config,
                                               const std::filesystem::path* document_folder) = nullptr;
  // For a card that passes rows on: what they carry from there on, such as the column of their groups.
  void (*mark_rows)(const config::Value& config, Table& rows) = nullptr;
  // For a card that passes on some of its rows: its settings with which they are all to be trained on.
  config::Value (*with_all_rows)(const config::Value& config) = nullptr;
  // For a card that defines a model: what it puts out, from its checked settings alone.
  ModelSpec (*spec)(const config::Value& config) = nullptr;
  // For a card with rows that something is chosen by: whether its settings ask for that. Null: always.
  bool (*chooses)(const config::Value& config) = nullptr;
  // For a card that makes one model of several: how many weights its settings give them; 0: none.
  std::size_t (*weights_given)(const config::Value& config) = nullptr;
  // For a card that trains: its checked settings. It takes one table to train on and one model_spec, and puts
  // out a model and a training to keep.
  cards::TrainSettings (*training)(const config::Value& config) = nullptr;
  // Settings that depend on another, such as those of each family of models; shown below the others.
  std::vector<config::TitledSettings> (*more_settings)() = nullptr;
};

const CardType* find_card_type(const CardTypes& types, const std::string& name);  // null when there is none
std::vector<std::string> type_names(const CardTypes& types);

// The output of which this is kept; null when there is none.
const Output* output_to_keep(const CardType& type, Keep keep);
// What is connected to an input of the card, in the order of the document.
std::span<const Connection> connections_to(const Card& card, const std::string& input);
// The input whose rows are used so, and that of a type; null when there is none.
const Input* input_of_rows(const CardType& type, Rows rows);
const Input* input_of_type(const CardType& type, PortType wanted);

}  // namespace stoker
