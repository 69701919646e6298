#pragma once

#include <string>

#include "serve/http/route.h"

namespace stoker::serve {

// The OpenAPI document as a page for people, which needs no script to be read.
std::string docs_page(const Routes& routes);

}  // namespace stoker::serve

// The files of page/, put into the program by embed.cmake.
namespace stoker::serve::embedded {

extern const std::string_view docs_style;
extern const std::string_view docs_script;

}  // namespace stoker::serve::embedded
