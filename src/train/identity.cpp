#include <span>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "base/quick_hash.h"
#include "train/checkpoints.h"

namespace stoker {
namespace {

// Of every row: one target that was corrected makes another training.
std::string hash_of(const Dataset& dataset) {
  std::string parts;
  for (const DatasetArray& each : dataset.arrays) {
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(each.array.data()),
                                           each.array.bytes());
    parts += fmt::format("{} {} {} {:016x};", each.name, name_of(each.array.type()),
                         fmt::join(each.array.shape(), "x"), quick_hash(bytes));
  }
  return sha256_of_text(parts).substr(0, 16);
}

}  // namespace

Identity identity_of(const EngineRequest& request) {
  const OptimizerSettings& optimizer = request.optimizer;
  return {
      {"inputs", fmt::format("{}", request.shape.inputs)},
      {"hidden_layers", fmt::format("{}", request.shape.hidden_layers)},
      {"outputs", fmt::format("{}", request.shape.outputs)},
      {"activation", std::string(config::name_of(request.shape.activation))},
      {"dropout", fmt::format("{}", request.shape.dropout)},
      {"loss", std::string(config::name_of(request.loss))},
      {"huber_delta", fmt::format("{}", request.loss == Loss::huber ? request.huber_delta : 0)},
      {"precision", std::string(config::name_of(request.precision))},
      {"optimizer", std::string(config::name_of(optimizer.kind))},
      {"momentum", fmt::format("{}", optimizer.momentum)},
      {"weight_decay", fmt::format("{}", optimizer.weight_decay)},
      {"max_grad_norm", fmt::format("{}", optimizer.max_grad_norm)},
      {"batch_size", fmt::format("{}", request.batch_size)},
      {"seed", fmt::format("{}", request.seed)},
      {"training_rows", fmt::format("{}", request.training.rows())},
      {"validation_rows", fmt::format("{}", request.validation.rows())},
      {"all_training_rows", hash_of(request.training)},
      {"all_validation_rows", hash_of(request.validation)},
  };
}

}  // namespace stoker
