#include "base/process/shared_library.h"

#include <dlfcn.h>

#include "base/error.h"

namespace stoker {

SharedLibrary::SharedLibrary(const std::vector<std::string>& names, const std::string& needed_by,
                             const std::string& package)
    : needed_by_(needed_by), package_(package) {
  for (const std::string& name : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    found_ = name;
    if (handle_ != nullptr) return;
  }
  throw Error(ExitCode::wrong_request,
              fmt::format("{} needs the library {}, which is not installed here; install the package {} (apt "
                          "install {})",
                          needed_by, names.front(), package, package),
              Cause::machine);
}

void* SharedLibrary::find_variable(const char* name) const {
  return dlsym(handle_, name);
}

void* SharedLibrary::address_of(const char* name) const {
  void* const address = dlsym(handle_, name);
  if (address == nullptr)
    throw Error(ExitCode::wrong_request,
                fmt::format("{}: the library {} is too old, it lacks {}; install a newer package {}",
                            needed_by_, found_, name, package_),
                Cause::machine);
  return address;
}

}  // namespace stoker
