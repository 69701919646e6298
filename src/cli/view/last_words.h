#pragma once

namespace stoker::cli {

// Where memory or threads run out inside a thread of a library, no caller can catch it and the program has to
// end: then with a sentence and the exit code of a failed run, not by SIGABRT.
void end_in_order_without_memory();

}  // namespace stoker::cli
