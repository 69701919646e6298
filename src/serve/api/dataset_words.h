#pragma once

#include <string>
#include <vector>

#include "data/source/source_config.h"
#include "serve/access/client_words.h"
#include "serve/service.h"
#include "store/dataset_store.h"

// Datasets as requests name them: a source as `stoker datasets add` takes it, and what is on record.
namespace stoker::serve {

// Where it lies. Refuses what the operator does not allow, and what the command would take for something
// else.
std::string place_of_source(const SourceConfig& source, const ServiceConfig& config);
// The settings that are not as usual.
std::vector<std::string> flags_of_source(const SourceConfig& source);

// Throws NotFound where none has the id.
DatasetRecord dataset_named(const std::string& id);
// What a client calls the file of a dataset: where it lies is the server's matter.
NamedPaths names_of_file(const DatasetRecord& record);

// Which arrays of a file hold cubes and masks, where a request says so.
std::vector<std::string> flags_of_keys(const Call& call);
// Of the name of a file that was sent: refuses one of the two files of a cube in ENVI form, and a form of
// cubes that nobody reads.
void refuse_part_of_cube(const std::string& name);

}  // namespace stoker::serve
