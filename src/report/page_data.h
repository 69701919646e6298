#pragma once

#include <string>

#include "report/contents.h"

namespace stoker {

// What the page's script draws, as JSON that can stand inside a <script> element.
std::string page_data(const RunContents& contents);

}  // namespace stoker
