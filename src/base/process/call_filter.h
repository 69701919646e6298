#pragma once

namespace stoker {

// Whether the kernel filters system calls (seccomp).
bool can_filter_calls();

// From now on the process starts no program or process, traces nobody, signals nobody but itself, changes no
// owner or rights of files, and uses none of the kernel's rarely needed interfaces: such calls fail with
// EPERM. Without `may_connect` it makes no sockets. Needs no_new_privs.
void filter_calls(bool may_connect);

}  // namespace stoker
