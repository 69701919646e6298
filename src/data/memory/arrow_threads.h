#pragma once

#include <filesystem>

namespace stoker {

// Whether Arrow is to read a file in threads: if it is large enough for that to pay, and if there are
// threads. Arrow starts them while work is under way, and does not survive it when the system gives none:
// those that run already go on reading what is gone, or are waited for in vain. So the first large file has
// all of them started before there is any work.
bool reads_in_threads(const std::filesystem::path& file);

// Whether Arrow may have been refused a thread, or memory for what threads were to do. It waits for all of
// them when the program ends, for such a one in vain, so that the program has to end without that.
bool arrow_may_wait_in_vain();

}  // namespace stoker
