#pragma once

namespace stoker {

// Arrow starts threads while work is under way, and does not survive it when the system gives none: those that
// run already go on reading what is gone, or are waited for in vain. So all of them are started before there
// is any work. False when there are not enough; then everything is to be read without threads.
bool arrow_has_its_threads();

// Whether Arrow may have been refused a thread. It waits for all of them when the program ends, for such a one
// in vain, so that the program has to end without that.
bool arrow_may_wait_in_vain();

}  // namespace stoker
