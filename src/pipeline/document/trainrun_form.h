#pragma once

#include <filesystem>

#include "config/diagnostics.h"
#include "config/value.h"

// The files of cuvis.ai: a graph of nodes (metadata, nodes, connections), and a run of one (pipeline, data,
// training, unfreeze_nodes, …), which may name other files.
namespace stoker {

bool is_trainrun_form(const config::Value& document);

// With what it takes from other files: those that its `defaults` name, from the folder above its own on, and
// its pipeline. What it says itself counts before what they say.
config::Value with_files_of_trainrun(config::Value document, const std::filesystem::path& file);

// The same as cards that load, split, train and evaluate. Every value keeps its line; what means nothing here
// is noted, and what cannot be carried over is reported.
config::Value from_trainrun_form(const config::Value& document, config::Diagnostics& diagnostics);

}  // namespace stoker
