#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stoker::cli {

// A document as the command line names it, with what it changes about it.
struct NamedDocument {
  std::string path;                      // empty: none was named
  std::vector<std::string> assignments;  // cards.model.config.epochs=5
  std::string device;                    // of the cards that train
  std::string engine;
  bool tensorboard = false;

  bool changes_settings() const { return !assignments.empty() || changes_training_cards(); }
  bool changes_training_cards() const { return !device.empty() || !engine.empty() || tensorboard; }
};

// DOC, --set, --device, --engine and --commands.
void add_document_options(CLI::App& app, NamedDocument& document, const std::string& help);

// The assignments, and those that --device and --engine stand for.
std::vector<std::string> assignments_for(const NamedDocument& document,
                                         const std::vector<std::string>& training_cards);

}  // namespace stoker::cli
