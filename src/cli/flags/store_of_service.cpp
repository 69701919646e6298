#include "cli/flags/store_of_service.h"

#include <cstdlib>
#include <filesystem>

#include "base/error.h"

namespace stoker::cli {

void use_store_of_service(const std::string& data) {
  if (std::getenv("STOKER_STORE") != nullptr) return;
  const std::filesystem::path file = std::filesystem::absolute(data) / "store.sqlite";
  if (!exists(file))
    refuse("there is no service's data in {}; name its folder with --data, or its store with STOKER_STORE",
           data);
  setenv("STOKER_STORE", file.c_str(), 1);
}

}  // namespace stoker::cli
