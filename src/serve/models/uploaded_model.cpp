#include "serve/models/uploaded_model.h"

#include <string>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/confined/confined_reader.h"
#include "model/model.h"
#include "serve/access/client_words.h"
#include "store/model_archive.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* unpack_request = "unpack_model";

void unpack_and_load(const fs::path& archive, const fs::path& folder) {
  unpack_model(archive, folder);
  load_model(folder);
}

}  // namespace

void unpack_uploaded_model(const fs::path& archive, const fs::path& folder) {
  try {
    if (confines_readers())
      ask_confined(archive, "the archive", {{"do", unpack_request}, {"to", fs::absolute(folder).string()}},
                   {fs::absolute(folder)});
    else
      unpack_and_load(archive, folder);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    // By the names of the archive, not by where it was unpacked.
    const NamedPaths names{{folder.string() + "/", ""}, {folder.string(), "the archive"}};
    throw Error(error.code(), with_names(error.what(), names), error.cause());
  }
}

ReaderRequests requests_about_models() {
  return {{unpack_request, [](const json& request) {
             unpack_and_load(request.at("file").get<std::string>(), request.at("to").get<std::string>());
             return json(nullptr);
           }}};
}

}  // namespace stoker::serve
