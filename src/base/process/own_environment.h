#pragma once

namespace stoker {

// Moves the environment of this process to memory that /proc/PID/environ does not show, and clears the place
// where it was: programs of the same user could read passwords there. Call it first, while the process has
// one thread.
void hide_own_environment();

}  // namespace stoker
