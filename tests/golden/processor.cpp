#include "golden/processor.h"

#include <cstdlib>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>

namespace stoker::test {
namespace {

std::string architecture() {
  utsname names{};
  uname(&names);
  return names.machine;
}

// Another version may multiply and add in one step where this one took two.
std::string compiler() {
  return fmt::format("g++ {}", __GNUC__);
}

std::map<std::string, bool> instruction_sets() {
#if defined(__aarch64__)
  return {{"neon", true}};
#elif defined(__x86_64__)
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return {{"avx512", avx512}, {"avx2", avx2}, {"baseline", true}};
#else
  return {};
#endif
}

}  // namespace

bool compute_with(const std::string& instruction_set) {
  const std::map<std::string, bool> is_here = instruction_sets();
  const auto found = is_here.find(instruction_set);
  if (found == is_here.end() || !found->second) return false;
  setenv("STOKER_CPU", instruction_set == "neon" ? "baseline" : instruction_set.c_str(), 1);
  return true;
}

std::string reason_for_other_bits(const nlohmann::json& made_by, const std::string& engine,
                                  const std::string& torch_version) {
  const auto differs = [&](const char* what, const std::string& here) -> std::string {
    const std::string there = made_by.at(what);
    return there == here ? "" : fmt::format("the {} was {} there and is {} here", what, there, here);
  };
  if (std::string reason = differs("architecture", architecture()); !reason.empty()) return reason;
  if (engine == "eager") return differs("torch", torch_version);
  if (std::string(STOKER_BUILD_TYPE) != "Release") return "this is not a release build";
  return differs("compiler", compiler());
}

}  // namespace stoker::test
