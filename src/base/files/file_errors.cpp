#include "base/files/file_errors.h"

#include <cerrno>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files/file_missing.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) {
  return std::error_code(error, std::generic_category()).message();
}

}  // namespace

void refuse_of_machine(const std::string& message, int error) {
  if (error == ENOENT) throw FileMissing(message);
  throw Error(ExitCode::wrong_request, message, Cause::machine);
}

void refuse_read(const fs::path& path, int error) {
  if (error == EISDIR) refuse("{} is a folder, not a file", path.string());
  refuse_of_machine(fmt::format("cannot read {}: {}", path.string(), reason(error)), error);
}

void refuse_write(const fs::path& path, int error) {
  refuse_of_machine(fmt::format("cannot write {}: {}", path.string(), reason(error)), error);
}

}  // namespace stoker
