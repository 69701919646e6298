#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/engine.h"

namespace stoker::test {

// An engine of one weight, so that the loop can be watched without LibTorch: each step pulls the weight
// towards a number of its own, and the validation loss of each epoch is read from a script.
class ScriptedEngine : public Engine {
 public:
  struct Script {
    std::int64_t steps_per_epoch = 4;
    std::vector<double> validation_losses{};  // of each epoch; none: no validation
    std::vector<double> train_losses{};       // instead of the true ones
    std::int64_t patience = 0;
    std::function<void(const Chunk&)> before_chunk = [](const Chunk&) {};
  };

  explicit ScriptedEngine(Script script) : script_(std::move(script)) {}

  std::string_view name() const override { return "scripted"; }

  ChunkResult run(const Chunk& chunk) override {
    script_.before_chunk(chunk);
    chunk_sizes.push_back(static_cast<std::int64_t>(chunk.learning_rates.size()));
    ChunkResult result;
    for (const float rate : chunk.learning_rates) {
      train_step(rate);
      rates.push_back(rate);
      if (step_ % script_.steps_per_epoch != 0) continue;
      result.finished_epochs.push_back(finish_epoch());
      result.stopped_early = script_.patience > 0 && bad_epochs_ >= script_.patience;
      if (result.stopped_early) break;
    }
    return result;
  }

  NamedArrays state() const override {
    return {{"parameters.weight", one(weight_)}, {"best", one(best_)}, {"best_loss", one(best_loss_)},
            {"loss_sum", one(loss_sum_)},        {"step", one(step_)}, {"bad_epochs", one(bad_epochs_)}};
  }
  void restore(const NamedArrays& state) override {
    weight_ = find_array(state, "parameters.weight").as<float>()[0];
    best_ = find_array(state, "best").as<float>()[0];
    best_loss_ = find_array(state, "best_loss").as<double>()[0];
    loss_sum_ = find_array(state, "loss_sum").as<double>()[0];
    step_ = find_array(state, "step").as<std::int64_t>()[0];
    bad_epochs_ = find_array(state, "bad_epochs").as<std::int64_t>()[0];
  }
  NamedArrays parameters() const override { return {{"weight", one(weight_)}}; }
  NamedArrays best_parameters() const override {
    return {{"weight", one(script_.validation_losses.empty() ? weight_ : best_)}};
  }

  std::vector<std::int64_t> chunk_sizes;
  std::vector<float> rates;

 private:
  template <class Number>
  static Array one(Number number) {
    return Array::from(std::span<const Number>(&number, 1), {1});
  }

  void train_step(float rate) {
    const auto wanted =
        static_cast<float>(uniform(random_key(1, Purpose::shuffle, 0), static_cast<std::uint32_t>(step_)));
    loss_sum_ += static_cast<double>((weight_ - wanted) * (weight_ - wanted));
    weight_ -= rate * (weight_ - wanted);
    ++step_;
  }

  EpochRecord finish_epoch() {
    EpochRecord record;
    record.epoch = step_ / script_.steps_per_epoch - 1;
    const auto epoch = static_cast<std::size_t>(record.epoch);
    record.train_loss = std::exchange(loss_sum_, 0) / static_cast<double>(script_.steps_per_epoch);
    if (!script_.train_losses.empty()) record.train_loss = script_.train_losses.at(epoch);
    if (script_.validation_losses.empty()) return record;
    record.validation_loss = script_.validation_losses.at(epoch);
    record.is_best = *record.validation_loss < best_loss_;
    bad_epochs_ = record.is_best ? 0 : bad_epochs_ + 1;
    if (record.is_best) {
      best_loss_ = *record.validation_loss;
      best_ = weight_;
    }
    return record;
  }

  Script script_;
  float weight_ = 5;
  float best_ = 0;
  double best_loss_ = std::numeric_limits<double>::infinity();
  double loss_sum_ = 0;
  std::int64_t step_ = 0;
  std::int64_t bad_epochs_ = 0;
};

}  // namespace stoker::test
