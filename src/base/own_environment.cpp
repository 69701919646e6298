#include "base/own_environment.h"

#include <cstdlib>
#include <cstring>
#include <vector>

extern char** environ;

namespace stoker {

void hide_own_environment() {
  if (environ == nullptr) return;
  std::vector<char*> old;
  for (char** each = environ; *each != nullptr; ++each) old.push_back(*each);
  // It lives as long as the process.
  auto* const moved = static_cast<char**>(std::calloc(old.size() + 1, sizeof(char*)));
  if (moved == nullptr) return;
  for (std::size_t i = 0; i < old.size(); ++i) {
    moved[i] = ::strdup(old[i]);
    if (moved[i] == nullptr) return;  // what is there stays
  }
  environ = moved;
  for (char* each : old) ::explicit_bzero(each, std::strlen(each));
}

}  // namespace stoker
