#include "torch/door.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <sched.h>

#include "base/error.h"
#include "base/text/text.h"
#include "device/array.h"
#include "device/host_memory.h"
#include "torch/entry.h"

namespace stoker::torch_door {
namespace {

// libstoker_torch.so lies beside libstoker.so, wherever that is.
std::filesystem::path library_path() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&find_array), &info) == 0 || info.dli_fname == nullptr) {
    fail("the program cannot find its own libraries");
  }
  return std::filesystem::absolute(info.dli_fname).parent_path() / "libstoker_torch.so";
}

// What was asked for needs more than this machine has.
[[noreturn]] void refuse_without_library(const std::string& needed_by, const std::string& reason) {
  throw Error(ExitCode::wrong_request, fmt::format("{} needs LibTorch, {}", needed_by, reason),
              Cause::machine);
}

// The loader names the file that it could not map, as if the file were at fault.
void fail_for_want_of_memory(const std::string& needed_by, const char* reason) {
  const std::string_view text = reason == nullptr ? "" : reason;
  constexpr std::array for_want_of_memory{"failed to map segment", "cannot map zero-fill pages",
                                          "allocate memory"};
  const auto is_said = [&](const char* each) { return text.find(each) != text.npos; };
  if (std::ranges::none_of(for_want_of_memory, is_said)) return;
  throw OutOfMemory(fmt::format(
      "out of memory: {} needs LibTorch, for which this process may not use enough memory ({} left); "
      "raise its limit (ulimit -v, ulimit -d) or free memory",
      needed_by, human_bytes(free_host_memory())));
}

// With OMP_PROC_BIND, OpenMP binds the thread that loads it to one core. This thread, and every thread that
// it starts later, would then count that core as the only one of the process.
void* loaded_on_all_cores(const std::filesystem::path& path) {
  cpu_set_t before;
  const bool is_known = sched_getaffinity(0, sizeof before, &before) == 0;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (is_known) sched_setaffinity(0, sizeof before, &before);
  return handle;
}

const Library& open_library(const std::string& needed_by) {
  const std::filesystem::path path = library_path();
  if (!std::filesystem::exists(path))
    refuse_without_library(
        needed_by, fmt::format("but {} is missing: install the torch wheel with tools/setup and build the "
                               "target stoker_torch",
                               path.string()));
  void* handle = loaded_on_all_cores(path);
  if (handle == nullptr) {
    const char* reason = dlerror();
    fail_for_want_of_memory(needed_by, reason);
    refuse_without_library(
        needed_by, fmt::format("which could not be loaded ({}): install the torch wheel with tools/setup and "
                               "build again",
                               reason == nullptr ? "no reason given" : reason));
  }
  const auto open = reinterpret_cast<OpenLibrary>(dlsym(handle, open_library_name));
  if (open == nullptr) fail("{} belongs to another version of the program; build it again", path.string());
  return *open();
}

std::atomic<int> thread_limit{0};
std::atomic<const Library*> opened_library{nullptr};

// The limit holds before any of the threads that wait for the library has it.
const Library& open_with_limit(const std::string& needed_by) {
  const Library& opened = open_library(needed_by);
  opened_library = &opened;
  opened.limit_cpu_threads(thread_limit);
  return opened;
}

// Opened once and kept: LibTorch does not survive being unloaded.
const Library& library(const std::string& needed_by) {
  static const Library& opened = open_with_limit(needed_by);
  return opened;
}

}  // namespace

std::span<const EngineMaker> engines(const std::string& needed_by) {
  const Library& opened = library(needed_by);
  return {opened.makers, opened.maker_count};
}

Array outputs(const Network& network, const NamedArrays& parameters, const Dataset& data, std::int64_t first,
              std::int64_t count, Device device) {
  return library("predicting with " + network.family)
      .outputs(network, parameters, data, first, count, device);
}

std::int64_t multiply_large_matrices(std::int64_t times, int threads) {
  return library("measuring the machine").multiply_matrices(times, threads);
}

void limit_cpu_threads(int most) {
  thread_limit = most;
  if (const Library* opened = opened_library) opened->limit_cpu_threads(most);
}

int cpu_threads() {
  const Library* opened = opened_library;
  return opened == nullptr ? 0 : opened->cpu_threads();
}

void let_waiting_threads_sleep() {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  setenv("GOMP_SPINCOUNT", "0", 1);
  setenv("KMP_BLOCKTIME", "0", 0);  // the same for the OpenMP of LLVM and Intel
}

std::string loaded_version() {
  const Library* opened = opened_library;
  return opened == nullptr ? "" : opened->version;
}

}  // namespace stoker::torch_door
