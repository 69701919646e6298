#pragma once

#include <filesystem>

#include "data/confined/reader_child.h"

namespace stoker::serve {

// Unpacks the archive of a model that a client has sent into an empty folder, and loads the model to see
// whether it is sound; all of it in a confined child, if readers are confined.
void unpack_uploaded_model(const std::filesystem::path& archive, const std::filesystem::path& folder);

// The requests that this child answers.
ReaderRequests requests_about_models();

}  // namespace stoker::serve
