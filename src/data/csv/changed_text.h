#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <arrow/io/type_fwd.h>
#include <arrow/status.h>

namespace stoker {

// Appends to `out` what a piece of a text becomes. The last piece is empty.
using ChangeOfText = std::function<arrow::Status(std::string_view piece, std::string& out)>;

// A text that is changed while it is read. An error of `change` is one of reading.
std::shared_ptr<arrow::io::InputStream> changed_text(std::shared_ptr<arrow::io::InputStream> text,
                                                     ChangeOfText change);

}  // namespace stoker
