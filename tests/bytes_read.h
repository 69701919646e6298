#pragma once

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>

namespace stoker::test {

// What a process has read from files, sockets and pipes since it began, in the kernel's count. Only the
// difference of two counts says something.
inline std::uint64_t bytes_read(const std::string& process = "self") {
  std::ifstream file("/proc/" + process + "/io");
  std::string name;
  std::uint64_t bytes = 0;
  if (!(file >> name >> bytes) || name != "rchar:") throw std::runtime_error("/proc has no count of reads");
  return bytes;
}

}  // namespace stoker::test
