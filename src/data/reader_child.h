#pragma once

#include "base/error.h"

namespace stoker {

// The word by which this program is started as the child of confined_reader.h.
constexpr const char* reader_child_word = "--reader";

// The file in the scratch folder that rows are handed over in.
constexpr const char* name_of_rows = "rows.arrow";

// Does what the parent asks for on the dialogue until the parent ends it.
ExitCode serve_as_reader_child();

}  // namespace stoker
