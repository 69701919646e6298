#include "serve/http/page_files.h"

namespace stoker::serve {

std::span<const PageFile> page_files() {
  return {};
}

}  // namespace stoker::serve
