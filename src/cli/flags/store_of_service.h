#pragma once

#include <string>

namespace stoker::cli {

// The commands after this one read and write the store of the service with this data folder, unless
// STOKER_STORE names another. Refuses a folder without one.
void use_store_of_service(const std::string& data);

}  // namespace stoker::cli
