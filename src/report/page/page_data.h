#pragma once

#include <string>

#include "report/run/contents.h"

namespace stoker {

// What the page's script draws, as JSON that can stand inside a <script> element.
std::string page_data(const RunContents& contents);

// Nothing in it ends the script element or begins a comment.
std::string for_script(const std::string& json_text);

}  // namespace stoker
