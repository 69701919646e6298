#include "base/process/own_environment.h"

#include <cstdlib>
#include <cstring>
#include <vector>

extern char** environ;

namespace stoker {

namespace {

// Where the environment begins from now on. It lives as long as the process, also after setenv() has made
// another list.
char** moved_environment = nullptr;

}  // namespace

void hide_own_environment() {
  if (environ == nullptr) return;
  std::vector<char*> old;
  for (char** each = environ; *each != nullptr; ++each) old.push_back(*each);
  moved_environment = static_cast<char**>(std::calloc(old.size() + 1, sizeof(char*)));
  if (moved_environment == nullptr) return;
  for (std::size_t i = 0; i < old.size(); ++i) {
    moved_environment[i] = ::strdup(old[i]);
    if (moved_environment[i] == nullptr) return;  // what is there stays
  }
  environ = moved_environment;
  for (char* each : old) ::explicit_bzero(each, std::strlen(each));
}

}  // namespace stoker
