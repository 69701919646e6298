#pragma once

#include <span>
#include <string_view>

namespace stoker::serve {

// A file of the web page, as web/embed.mjs puts it into the program.
struct PageFile {
  std::string_view path;  // from / on
  std::string_view type;
  std::string_view tag;    // of its bytes, for ETag
  std::string_view bytes;  // compressed by gzip, but for index.html
};

// Empty where the program was built without Node (no_page.cpp).
std::span<const PageFile> page_files();

}  // namespace stoker::serve
