#include <span>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/quick_hash.h"
#include "train/checkpoint/checkpoints.h"

namespace stoker {
namespace {

std::span<const std::byte> bytes_of(const Array& array) {
  return {static_cast<const std::byte*>(array.data()), array.bytes()};
}

// Of every row: one target that was corrected makes another training.
std::string hash_of(const Dataset& dataset) {
  std::string parts;
  for (const DatasetArray& each : dataset.arrays) {
    parts += fmt::format("{} {} {} {:016x};", each.name, name_of(each.array.type()),
                         fmt::join(each.array.shape(), "x"), quick_hash(bytes_of(each.array)));
    if (each.has_windows())
      parts += fmt::format("{} {:016x};", each.length, quick_hash(bytes_of(each.starts)));
  }
  return sha256_of_text(parts).substr(0, 16);
}

std::string text_of(const config::Value& value) {
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* number = value.get_if<double>()) return fmt::format("{}", *number);
  if (const auto* list = value.get_if<config::Value::List>()) {
    std::vector<std::string> items;
    for (const config::Value& each : *list) items.push_back(text_of(each));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  return config::to_json(value).dump();
}

Identity identity_of(const Network& network) {
  Identity identity{{model_of_identity, network.family},
                    {"inputs", fmt::format("{}", feature_width(network))},
                    {"outputs", fmt::format("{}", network.outputs)}};
  if (const auto* settings = network.settings.get_if<config::Value::Map>())
    for (const config::Entry& each : *settings) identity.emplace_back(each.key, text_of(each.value));
  return identity;
}

}  // namespace

Identity identity_of(const EngineRequest& request) {
  const OptimizerSettings& optimizer = request.optimizer;
  Identity identity = identity_of(request.network);
  const Identity of_training{
      {"loss", std::string(config::name_of(request.loss().kind))},
      {"huber_delta", fmt::format("{}", request.loss().kind == Loss::huber ? request.loss().huber_delta : 0)},
      {"precision", std::string(config::name_of(request.precision))},
      {"optimizer", std::string(config::name_of(optimizer.kind))},
      {"momentum", fmt::format("{}", optimizer.momentum)},
      {"weight_decay", fmt::format("{}", optimizer.weight_decay)},
      {"max_grad_norm", fmt::format("{}", optimizer.max_grad_norm)},
      // One that is yet to be chosen is kept with the progress.
      {"batch_size", request.batch_size > 0 ? fmt::format("{}", request.batch_size) : "auto"},
      {"seed", fmt::format("{}", request.seed)},
      {"training_rows", fmt::format("{}", request.training.rows())},
      {"validation_rows", fmt::format("{}", request.validation.rows())},
      {"all_training_rows", hash_of(request.training)},
      {"all_validation_rows", hash_of(request.validation)},
  };
  identity.insert(identity.end(), of_training.begin(), of_training.end());
  // Told where they are in use, so that checkpoints of versions without them stay good.
  if (request.loss().label_smoothing > 0)
    identity.emplace_back("label_smoothing", fmt::format("{}", request.loss().label_smoothing));
  if (request.accumulation_steps > 1)
    identity.emplace_back("accumulation_steps", fmt::format("{}", request.accumulation_steps));
  if (request.weight_average > 0)
    identity.emplace_back("weight_average", fmt::format("{}", request.weight_average));
  if (request.loss().kind == Loss::quantile)
    identity.emplace_back("quantile", fmt::format("{}", request.loss().quantile));
  // A loss alone is told above, as earlier versions did.
  for (std::size_t i = 0; request.losses.size() > 1 && i < request.losses.size(); ++i) {
    const LossTerm& term = request.losses[i];
    identity.emplace_back(fmt::format("loss {}", term.name),
                          fmt::format("{} {} {} {} {} {}", config::name_of(term.kind), term.weight,
                                      term.huber_delta, term.targets, term.first_output, term.outputs));
    if (term.kind == Loss::quantile)
      identity.emplace_back(fmt::format("quantile of {}", term.name), fmt::format("{}", term.quantile));
  }
  if (request.order.ranks > 1)
    identity.emplace_back("process", fmt::format("{} of {}", request.order.rank, request.order.ranks));
  if (request.order.is_sharded())
    identity.emplace_back("rows_per_shard", fmt::format("{}", request.order.rows_per_shard));
  return identity;
}

}  // namespace stoker
