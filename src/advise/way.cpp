#include "advise/way.h"

#include <algorithm>

#include <fmt/format.h>

#include "pipeline/training/training_card.h"

namespace stoker::advise {
namespace {

bool is_solved(const Document& document, const Card& card) {
  const std::optional<ModelSpec> spec = spec_to_train(document, card);
  return spec && spec->is_solved();
}

double share_of(const Document& document, double seconds) {
  return seconds /
         static_cast<double>(std::max<std::ptrdiff_t>(1, std::ranges::count_if(document.cards, trains)));
}

}  // namespace

std::vector<std::string> assignments_of_way(const Document& document, const Way& way) {
  std::vector<std::string> all;
  for (const Card& card : document.cards) {
    if (!trains(card)) continue;
    const FitConfig written = card.kind->training(card.config).fit;
    const std::string settings = "cards." + card.id + ".config.";
    const auto set = [&](const char* name, const std::string& value) {
      if (!value.empty()) all.push_back(settings + name + "=" + value);
    };
    set("device", way.device);
    if (!way.device.empty() && written.gpu.gpu_mode != GpuMode::automatic) set("gpu_mode", "auto");
    if (is_solved(document, card)) continue;
    set("engine", way.engine);
    set("placement", way.placement);
    if (!way.placement.empty() && written.placement.preload_to_gpu) set("preload_to_gpu", "null");
  }
  return all;
}

bool is_to_be_cut(const Document& document, const Card& card, double seconds) {
  const FitConfig config = card.kind->training(card.config).fit;
  if (is_solved(document, card) || config.walk_forward.is_wanted()) return false;
  return config.time_limit == 0 || config.time_limit > share_of(document, seconds);
}

std::vector<std::string> assignments_of_cut(const Document& document, double seconds) {
  std::vector<std::string> all;
  for (const Card& card : document.cards)
    if (trains(card) && is_to_be_cut(document, card, seconds))
      all.push_back(fmt::format("cards.{}.config.time_limit={:.3f}", card.id, share_of(document, seconds)));
  return all;
}

}  // namespace stoker::advise
