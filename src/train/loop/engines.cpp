#include "train/loop/engines.h"

#include <array>
#include <vector>

#include "base/error.h"
#include "base/text/text.h"
#include "fused/cpu/fused_cpu_engine.h"
#include "fused/cuda/fused_cuda.h"
#include "fused/cuda/sequence/sequence_kernels.h"
#include "torch/door.h"

namespace stoker {
namespace {

const EngineMaker& named(std::span<const EngineMaker> makers, std::string_view name) {
  std::vector<std::string> known;
  for (const EngineMaker& maker : makers) {
    if (maker.name == name) return maker;
    known.emplace_back(maker.name);
  }
  refuse("this build has no engine '{}'; it has {}", name, join(known, ", "));
}

const EngineMaker& able(const EngineMaker& maker, const EngineRequest& request, std::string_view asked_by) {
  const std::string refusal = maker.refusal(request);
  if (!refusal.empty()) refuse("engine {}{}: {}", maker.name, asked_by, refusal);
  return maker;
}

const EngineMaker& first_able(std::span<const EngineMaker> makers, const EngineRequest& request,
                              bool is_alone) {
  std::vector<std::string> refusals;
  const EngineMaker* slower = nullptr;
  for (const EngineMaker& maker : makers) {
    const std::string refusal = maker.refusal(request);
    if (!refusal.empty()) {
      refusals.push_back(fmt::format("{}: {}", maker.name, refusal));
    } else if (is_alone && maker.slower_alone != nullptr && !maker.slower_alone(request).empty()) {
      if (slower == nullptr) slower = &maker;
    } else {
      return maker;
    }
  }
  if (slower != nullptr) return *slower;
  refuse("no engine can run this training on {}: {}", request.device.name(), join(refusals, "; "));
}

const EngineMaker& engine_for(std::string_view name, const EngineRequest& request) {
  return named(torch_door::engines("training " + request.network.family), name);
}

// An engine behind the torch door, which opens when this one is asked: LibTorch takes about a second and a
// hundred megabytes, and most trainings do not need it.
template <const std::string_view& name>
constexpr EngineMaker behind_the_door() {
  return {name, [](const EngineRequest& request) { return engine_for(name, request).refusal(request); },
          [](const EngineRequest& request) { return engine_for(name, request).make(request); }};
}

constexpr std::string_view fused_name = "fused";

bool is_sequence_on_gpu(const EngineRequest& request) {
  return request.device.is_cuda() && fused::sequence::has_kernels_for(request.network);
}

// One name, three engines: the request's device says which, and on a GPU its network. The kernels of
// sequences stand in a frame of LibTorch's.
EngineMaker fused_maker() {
  return {
      fused_name,
      [](const EngineRequest& request) {
        if (is_sequence_on_gpu(request)) return engine_for(fused_name, request).refusal(request);
        return request.device.is_cuda() ? fused::cuda_refusal(request) : fused_cpu::maker().refusal(request);
      },
      [](const EngineRequest& request) {
        if (is_sequence_on_gpu(request)) return engine_for(fused_name, request).make(request);
        return request.device.is_cuda() ? fused::make_cuda(request) : fused_cpu::maker().make(request);
      },
      fused::make_cuda_group,
      [](const EngineRequest& request) {
        return is_sequence_on_gpu(request) ? std::string() : fused::slower_alone(request);
      },
      [](const EngineRequest& request) { return !is_sequence_on_gpu(request) && fused::can_group(request); }};
}

constexpr std::string_view graph = "graph";
constexpr std::string_view eager = "eager";

}  // namespace

std::span<const EngineMaker> engines() {
  static const std::array makers{fused_maker(), behind_the_door<graph>(), behind_the_door<eager>()};
  return makers;
}

std::span<const EngineMaker> libtorch_engines() {
  constexpr std::size_t our_own = 1;
  return engines().subspan(our_own);
}

bool needs_libtorch(std::string_view engine, const EngineRequest& request) {
  return engine != fused_name || is_sequence_on_gpu(request);
}

const EngineMaker* taken_without_libtorch(const EngineRequest& request) {
  const EngineMaker& fused = named(engines(), fused_name);
  if (needs_libtorch(fused_name, request) || !fused.refusal(request).empty()) return nullptr;
  return fused.slower_alone(request).empty() ? &fused : nullptr;
}

const EngineMaker& choose_engine(std::span<const EngineMaker> makers, EngineChoice choice,
                                 const std::optional<std::string>& resumed, const EngineRequest& request,
                                 bool is_alone) {
  const std::string asked = choice == EngineChoice::automatic ? "" : std::string(config::name_of(choice));
  if (resumed) {
    if (!asked.empty() && asked != *resumed)
      refuse(
          "engine {} was requested, but the run to resume was started with engine {}; leave the engine as it "
          "was",
          asked, *resumed);
    return able(named(makers, *resumed), request, " (which the run to resume was started with)");
  }
  return asked.empty() ? first_able(makers, request, is_alone) : able(named(makers, asked), request, "");
}

}  // namespace stoker
