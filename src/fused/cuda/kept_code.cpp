#include "fused/cuda/kept_code.h"

#include <optional>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/user_cache.h"
#include "base/hash.h"
#include "base/time/trace.h"
#include "fused/cuda/gpu.h"
#include "fused/cuda/nvrtc.h"
#include "fused/cuda/sources.h"

namespace stoker::fused {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_code_bytes = 64 << 20;

std::string architecture_of(Device device) {
  const int capability = gpu_of(device).capability;
  return fmt::format("sm_{}{}", capability, capability == 90 ? "a" : "");
}

// Compiled kernels outlive the program here. No home, no cache: then they are compiled each time.
std::optional<fs::path> kept_at(const std::string& source, const std::string& architecture) {
  const std::optional<fs::path> folder = user_cache("kernels");
  if (!folder) return std::nullopt;
  Sha256 hash;
  hash.add(source);
  hash.add(architecture);
  for (const sources::Text& each : sources::all()) hash.add(each.text);
  return *folder / (hash.finish() + ".cubin");
}

CompiledCode kept_or_compiled(const std::string& source, const std::string& architecture,
                              const StopSignal& stop) {
  const std::optional<fs::path> file = kept_at(source, architecture);
  try {
    std::error_code ignored;
    if (file && fs::exists(*file, ignored)) return {read_file(*file, most_code_bytes), ""};
  } catch (const Error&) {
    // A cache that cannot be read is no cache.
  }
  CompiledCode made;
  {
    const Traced traced(TraceKind::background, compiling_kernels);
    made = compiled(source, architecture, stop);
  }
  if (file && !made.code.empty()) {
    try {
      make_folder(file->parent_path());
      write_file(*file, made.code);
    } catch (const Error&) {
      // Nor is one that cannot be written.
    }
  }
  return made;
}

CompileOnce& codes() {
  static CompileOnce once;
  return once;
}

}  // namespace

std::string code_key(const std::string& source, Device device) {
  return architecture_of(device) + source;
}

CompiledCode code_for(const std::string& source, Device device, const StopSignal& stop) {
  return codes().get(code_key(source, device),
                     [&] { return kept_or_compiled(source, architecture_of(device), stop); });
}

void forget_code(const std::string& source, Device device) {
  codes().forget(code_key(source, device));
}

void discard_code(const std::string& source, Device device) {
  forget_code(source, device);
  std::error_code ignored;
  if (const auto file = kept_at(source, architecture_of(device))) fs::remove(*file, ignored);
}

}  // namespace stoker::fused
