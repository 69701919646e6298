#pragma once

#include <functional>
#include <string>

namespace stoker::cli {

// Does the work in a child of this process and gives back the text that it comes to: whatever memory and
// threads it takes are the child's. An error of the child is thrown here. To be called while this process has
// one thread.
std::string in_own_process(const std::function<std::string()>& work);

}  // namespace stoker::cli
