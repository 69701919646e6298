#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "train/checkpoints.h"

namespace stoker {
namespace {

constexpr std::int64_t most_hashed_rows = 4096;

// Enough to tell two tables apart: of a large one, evenly spaced rows.
void add_rows(Sha256& hash, const Array& array) {
  const std::int64_t rows = array.dimension(0);
  if (rows == 0) return;
  const std::size_t row_bytes = array.bytes() / static_cast<std::size_t>(rows);
  const std::span<const std::byte> all(static_cast<const std::byte*>(array.data()), array.bytes());
  const std::int64_t count = std::min(rows, most_hashed_rows);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = i * rows / count;
    hash.add(all.subspan(static_cast<std::size_t>(row) * row_bytes, row_bytes));
  }
}

std::string hash_of(const Dataset& dataset) {
  Sha256 hash;
  for (const DatasetArray& each : dataset.arrays) {
    hash.add(
        fmt::format("{} {} {};", each.name, name_of(each.array.type()), fmt::join(each.array.shape(), "x")));
    add_rows(hash, each.array);
  }
  return hash.finish().substr(0, 16);
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
      {"training_data", hash_of(request.training)},
      {"validation_data", hash_of(request.validation)},
  };
}

}  // namespace stoker
