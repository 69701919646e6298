#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace stoker::serve {

struct ServerLimits {
  std::size_t connections = 1'000;
  std::size_t connections_of_an_address = 400;
  std::uint32_t header_bytes = 16 * 1024;
  std::chrono::seconds header_time{10};  // from the first byte on; a slow client does not hold a connection
  std::chrono::seconds idle_time{60};    // between two requests
  std::chrono::seconds body_time{30};    // and a second more for each 16 KiB of it
  std::chrono::seconds write_time{30};   // for an answer to be taken; a second more for each 16 KiB of it
};

}  // namespace stoker::serve
