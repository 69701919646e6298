#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace stoker::test {

// Lookups of names and connections of this program go through a plan, so that a name can change its address
// and a public address can be a server of this machine. Nothing leaves the machine.
struct PlannedNetwork {
  // Of moves.invalid: what each lookup in turn finds; the last answer stays. An empty one: the name is
  // unknown.
  std::vector<std::vector<std::string>> answers;
  int lookups = 0;
  // Connections to this address arrive at this port of the loopback interface.
  static constexpr const char* public_address = "8.8.8.8";
  int port_of_public_address = 0;
  std::vector<std::string> connections;  // addresses without ports, in order

  // Of hangs.invalid: the lookup waits for the first and then sets the second.
  std::atomic<bool> lookup_may_end{false};
  std::atomic<bool> lookup_has_ended{false};
};
PlannedNetwork& planned_network();

}  // namespace stoker::test
