#pragma once

#include <string>

namespace stoker {

// The page of a report: body is HTML, data is JSON that can stand inside a <script> element.
std::string whole_page(const std::string& title, const std::string& body, const std::string& data);

}  // namespace stoker
