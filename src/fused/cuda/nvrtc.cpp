#include "fused/cuda/nvrtc.h"

#include <array>
#include <cstdlib>
#include <vector>

#include <dlfcn.h>

#include "base/error.h"
#include "fused/cuda/sources.h"

namespace stoker::fused {
namespace {

// NVRTC by name, not linked: a machine without it trains with the other engines. Its few functions are
// declared here, so that building needs no header of it either.
using Program = struct ProgramOfNvrtc*;
struct Nvrtc {
  void* library = nullptr;
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const* texts,
                const char* const* names) = nullptr;
  int (*compile)(Program, int options, const char* const* values) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*size)(Program, std::size_t*) = nullptr;
  int (*code)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  // Older ones have it not: it is asked, while it compiles, whether to give up.
  int (*ask)(Program, int (*gives_up)(void* payload, void*), void* payload) = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Nvrtc load() {
  Nvrtc nvrtc;
  const char* chosen = std::getenv("STOKER_NVRTC");
  const std::vector<const char*> names =
      chosen != nullptr ? std::vector<const char*>{chosen}
                        : std::vector<const char*>{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"
#ifdef STOKER_NVRTC_PATH
                                                   ,
                                                   STOKER_NVRTC_PATH
#endif
                          };
  for (const char* name : names) {
    nvrtc.library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (nvrtc.library != nullptr) break;
  }
  if (nvrtc.library == nullptr) return nvrtc;
  const bool whole = find(nvrtc.library, "nvrtcCreateProgram", nvrtc.create) &&
                     find(nvrtc.library, "nvrtcCompileProgram", nvrtc.compile) &&
                     find(nvrtc.library, "nvrtcGetProgramLogSize", nvrtc.log_size) &&
                     find(nvrtc.library, "nvrtcGetProgramLog", nvrtc.log) &&
                     find(nvrtc.library, "nvrtcGetCUBINSize", nvrtc.size) &&
                     find(nvrtc.library, "nvrtcGetCUBIN", nvrtc.code) &&
                     find(nvrtc.library, "nvrtcDestroyProgram", nvrtc.destroy);
  if (!whole) {
    nvrtc.library = nullptr;
    return nvrtc;
  }
  find(nvrtc.library, "nvrtcSetFlowCallback", nvrtc.ask);
  return nvrtc;
}

// What the kernels' headers ask for of the standard library.
constexpr const char* integers =
    "namespace std {\n"
    "using uint8_t = unsigned char; using uint16_t = unsigned short; using uint32_t = unsigned int;\n"
    "using uint64_t = unsigned long long; using int32_t = int; using int64_t = long long;\n"
    "}\n";
constexpr const char* mathematics =
    "namespace std { inline __device__ double sqrt(double x) { return ::sqrt(x); }\n"
    "inline __device__ double log(double x) { return ::log(x); }\n"
    "inline __device__ double cos(double x) { return ::cos(x); } }\n";

int gives_up(void* payload, void*) {
  return static_cast<const StopSignal*>(payload)->reason() == StopReason::none ? 0 : 1;
}

}  // namespace

CompiledCode compiled(const std::string& source, const std::string& architecture, const StopSignal& stop) {
  static const Nvrtc nvrtc = load();
  if (nvrtc.library == nullptr)
    return {"", "this shape needs CUDA's run-time compiler (libnvrtc), which is not installed"};
  std::vector<std::string> texts;
  std::vector<const char*> names;
  for (const sources::Text& each : sources::all()) {
    texts.emplace_back(each.text);
    names.push_back(each.name);
  }
  texts.insert(texts.end(), {integers, mathematics});
  names.insert(names.end(), {"cstdint", "cmath"});
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  Program program = nullptr;
  if (nvrtc.create(&program, source.c_str(), "fused.cu", static_cast<int>(names.size()), pointers.data(),
                   names.data()) != 0)
    fail("CUDA's run-time compiler could not be started");
  if (nvrtc.ask != nullptr) nvrtc.ask(program, gives_up, const_cast<StopSignal*>(&stop));
  const std::string target = "--gpu-architecture=" + architecture;
  const std::array<const char*, 3> options{target.c_str(), "--std=c++17",
                                           "--device-as-default-execution-space"};
  std::string code;
  if (nvrtc.compile(program, static_cast<int>(options.size()), options.data()) == 0) {
    std::size_t bytes = 0;
    nvrtc.size(program, &bytes);
    code.resize(bytes);
    nvrtc.code(program, code.data());
    nvrtc.destroy(&program);
    return {std::move(code), ""};
  }
  std::size_t length = 0;
  nvrtc.log_size(program, &length);
  std::string log(length, '\0');
  nvrtc.log(program, log.data());
  nvrtc.destroy(&program);
  if (stop.reason() != StopReason::none) return {"", "its kernel is no longer needed", true};
  // An older compiler may not know an instruction; the other engines need none.
  return {"",
          fmt::format("its kernel does not compile for {}: {}", architecture, log.substr(0, log.find('\n')))};
}

}  // namespace stoker::fused
