#include "train/engines.h"

#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "engine/fused_cuda/fused_cuda.h"
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

const EngineMaker& first_able(std::span<const EngineMaker> makers, const EngineRequest& request) {
  std::vector<std::string> refusals;
  for (const EngineMaker& maker : makers) {
    const std::string refusal = maker.refusal(request);
    if (refusal.empty()) return maker;
    refusals.push_back(fmt::format("{}: {}", maker.name, refusal));
  }
  refuse("no engine can run this training on {}: {}", request.device.name(), join(refusals, "; "));
}

}  // namespace

// All are behind the torch door today. Opening it takes a while, so whoever asks here needs a network
// trained.
std::span<const EngineMaker> engines() {
  static const std::vector<EngineMaker> all = [] {
    std::vector<EngineMaker> makers{{"fused", fused::cuda_refusal, fused::make_cuda, fused::make_cuda_group}};
    for (const EngineMaker& maker : torch_door::engines()) makers.push_back(maker);
    return makers;
  }();
  return all;
}

const EngineMaker& choose_engine(std::span<const EngineMaker> makers, EngineChoice choice,
                                 const std::optional<std::string>& resumed, const EngineRequest& request) {
  const std::string asked = choice == EngineChoice::automatic ? "" : std::string(config::name_of(choice));
  if (resumed) {
    if (!asked.empty() && asked != *resumed)
      refuse(
          "engine {} was asked for, but the run to resume was begun with engine {}; leave the engine as it "
          "was",
          asked, *resumed);
    return able(named(makers, *resumed), request, " (with which the run to resume was begun)");
  }
  return asked.empty() ? first_able(makers, request) : able(named(makers, asked), request, "");
}

}  // namespace stoker
