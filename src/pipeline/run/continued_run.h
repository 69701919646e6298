#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "pipeline/document/document.h"

// A finished run that is to be trained for more epochs, as a run of its own.
namespace stoker {

// The document of a run with so many epochs more in each card that trains. Refuses what cannot go on: models
// that are solved at once, ensembles, trainings over several folds.
Document with_more_epochs(const Document& document, std::int64_t epochs, std::optional<double> learning_rate);

// Why its trainings cannot go on, in words for people; "": they can. Of a run that was made with the
// document.
std::string why_not_continued(const Document& document, const std::filesystem::path& run_folder);

// Makes the folder of a new run, of that name beside the other, that goes on from its checkpoints when it is
// run. Refuses a name that is taken; leaves nothing behind when it cannot be made.
void make_continued_run(const std::filesystem::path& from, const std::string& name, const Document& document);

}  // namespace stoker
