#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.h"
#include "fused/cpu/experts/expert_engine.h"
#include "kernels/drawn_experts.h"
#include "kernels/noise.h"
#include "model/experts/expert_routing.h"

// What a batch goes through.
namespace stoker::fused_cpu {
namespace {

constexpr std::int64_t rows_of_router_piece = 32;

Workspace part_of(const Workspace& space, const Network& network, std::int64_t first, std::int64_t rows) {
  Workspace part = space;
  part.rows = padded(rows, row_block);
  part.active[0] += first * network.layers[0].inputs;
  for (int i = 0; i < network.layer_count; ++i) {
    part.active[i + 1] += first * network.layers[i].outputs;
    part.deltas[i] += first * network.layers[i].outputs;
  }
  return part;
}

}  // namespace

Workspace ExpertEngine::space_of(const Group& group) const {
  return part_of(asked_, layout_.expert, group.first, group.rows);
}

Workspace ExpertEngine::space_of_router(std::int64_t count) const {
  Workspace space = routed_;
  space.rows = padded(count, row_block);
  space.gradients = gradients_;
  if (inner_is_frozen_) {
    space.active[0] = routed_.active[1];
    space.active[1] = routed_.active[2];
    space.deltas[0] = routed_.deltas[1];
  }
  return space;
}

void ExpertEngine::run_slice(std::int64_t, std::int64_t, std::int64_t count, std::int64_t rows,
                             Gradients what, const Update& update) {
  forward(count, true);
  count_usage(count);
  kernels::Losses losses = losses_;
  losses.outputs = mixed_.data();
  losses.float_targets = float_targets_.data();
  losses.class_targets = class_targets_.data();
  losses.row_weights = training_rows_.weights == nullptr ? nullptr : row_weights_.data();
  losses.rows = count;
  losses.mean_rows = rows;
  losses.row_sums = row_sums_.data();
  losses.hit_sums = train_hits();
  losses.gradients = mixed_gradient_.data();
  const bool are_several = loss_sums_.size() > 1;
  double before = 0;
  if (are_several)
    for (std::int64_t row = 0; row < count; ++row) before += row_sums_[static_cast<std::size_t>(row)];
  kernels::losses(losses);
  share_gradients(count);
  if (are_several) {
    double after = 0;
    for (std::int64_t row = 0; row < count; ++row) after += row_sums_[static_cast<std::size_t>(row)];
    loss_sums_[0] += after - before;
    add_losses_of_router(count, rows);
  }

  const Workspace routed = space_of_router(count);
  auto work = [&](std::int64_t item) {
    if (item == 0) return kernels_.backward(learning_router_, routed, Dropout{}, what, update);
    teach(groups_[static_cast<std::size_t>(item - 1)], what, update);
  };
  pool_.share(std::ssize(groups_) + 1, work);
}

void ExpertEngine::forward(std::int64_t count, bool is_training) {
  score(count);
  if (is_training && layout_.shape.settings.router_noise > 0) add_router_noise(count);
  choose(count);
  if (is_training && draws_experts()) draw_experts(count);
  sort_by_expert(count);
  auto work = [&](std::int64_t item) { ask(groups_[static_cast<std::size_t>(item)], is_training); };
  pool_.share(std::ssize(groups_), work);
  mix(count);
}

void ExpertEngine::score(std::int64_t count) {
  const std::int64_t inputs = router_.layers[0].inputs;
  std::fill_n(routed_.active[0] + count * inputs, (padded(count, row_block) - count) * inputs, 0.0F);
  const std::int64_t pieces = (count + rows_of_router_piece - 1) / rows_of_router_piece;
  auto work = [&](std::int64_t piece) {
    const std::int64_t first = piece * rows_of_router_piece;
    const std::int64_t rows = std::min(rows_of_router_piece, count - first);
    kernels_.forward(router_, part_of(routed_, router_, first, rows), Dropout{}, false);
  };
  pool_.share(pieces, work);
}

void ExpertEngine::add_router_noise(std::int64_t count) {
  const std::int64_t room = layout_.shape.room();
  kernels::StepCounters counters;
  counters.current_step = step_;
  for (std::int64_t row = 0; row < count; ++row) {
    kernels::Noise work;
    work.values = routed_.active[2] + row * router_.layers[1].outputs;
    work.elements = room;
    work.first = row * room;
    work.seed = request_.seed;
    work.deviation = static_cast<float>(layout_.shape.settings.router_noise);
    work.counters = &counters;
    kernels::add_noise(work);
  }
}

void ExpertEngine::choose(std::int64_t count) {
  const std::int64_t stride = router_.layers[1].outputs;
  for (std::int64_t row = 0; row < count; ++row) {
    const auto place = static_cast<std::size_t>(row * top_k());
    route_row(routed_.active[2] + row * stride, living_, layout_.shape.settings.temperature, top_k(),
              &chosen_ones_[place], &shares_[place]);
  }
}

void ExpertEngine::draw_experts(std::int64_t count) {
  const ExpertSettings& settings = layout_.shape.settings;
  const std::int64_t stride = router_.layers[1].outputs;
  const float* alive = network_.parameters + layout_.alive;
  const double share = kernels::drawn_share(settings.router_exploration, step_, request_.planned_steps());
  std::copy_n(chosen_ones_.begin(), count * top_k(), liked_ones_.begin());
  for (std::int64_t row = 0; row < count; ++row) {
    const kernels::RowDraws draws(request_.seed, step_, row, layout_.shape.room());
    if (!draws.is_of(share)) continue;
    const auto place = static_cast<std::size_t>(row * top_k());
    kernels::draw_experts_of_row(draws, alive, top_k(), &chosen_ones_[place]);
    share_among(routed_.active[2] + row * stride, settings.temperature, top_k(), &chosen_ones_[place],
                &shares_[place]);
  }
}

// Stable by row: a count for each expert, where each begins, and every row to its place.
void ExpertEngine::sort_by_expert(std::int64_t count) {
  std::vector<std::int64_t> next(static_cast<std::size_t>(layout_.shape.room()));
  const auto choices = static_cast<std::size_t>(count * top_k());
  for (std::size_t i = 0; i < choices; ++i) ++next[static_cast<std::size_t>(chosen_ones_[i])];
  groups_.clear();
  std::int64_t first = 0;
  for (const std::int32_t expert : living_) {
    std::int64_t& rows = next[static_cast<std::size_t>(expert)];
    groups_.push_back({expert, first, rows});
    first += padded(rows, row_block);
    rows = groups_.back().first;
  }
  for (std::size_t i = 0; i < choices; ++i) {
    const std::int32_t expert = chosen_ones_[i];
    const std::int64_t place = next[static_cast<std::size_t>(expert)]++;
    const auto row = static_cast<std::int64_t>(i) / top_k();
    places_[i] = place;
    sources_[static_cast<std::size_t>(place)] = row;
    numbers_[static_cast<std::size_t>(place)] = static_cast<std::uint32_t>(expert * count + row);
  }
}

void ExpertEngine::ask(const Group& group, bool is_training) {
  if (group.rows == 0) return;
  const Workspace space = space_of(group);
  const std::int64_t inputs = layout_.expert.layers[0].inputs;
  for (std::int64_t i = 0; i < group.rows; ++i)
    std::memcpy(space.active[0] + i * inputs,
                routed_.active[0] + sources_[static_cast<std::size_t>(group.first + i)] * inputs,
                static_cast<std::size_t>(inputs) * sizeof(float));
  std::fill_n(space.active[0] + group.rows * inputs, (space.rows - group.rows) * inputs, 0.0F);
  Dropout dropout = dropout_;
  dropout.numbers = &numbers_[static_cast<std::size_t>(group.first)];
  kernels_.forward(experts_[static_cast<std::size_t>(group.expert)], space, dropout, is_training);
}

void ExpertEngine::mix(std::int64_t count) {
  const int last = layout_.expert.layer_count;
  const std::int64_t stride = layout_.expert.layers[last - 1].outputs;
  const std::int64_t width = layout_.shape.outputs;
  for (std::int64_t row = 0; row < count; ++row) {
    float* mixed = &mixed_[static_cast<std::size_t>(row * width)];
    std::fill_n(mixed, width, 0.0F);
    for (std::int64_t k = 0; k < top_k(); ++k) {
      const auto choice = static_cast<std::size_t>(row * top_k() + k);
      const float* answer = asked_.active[last] + places_[choice] * stride;
      for (std::int64_t i = 0; i < width; ++i) mixed[i] += shares_[choice] * answer[i];
    }
  }
}

void ExpertEngine::count_usage(std::int64_t count) {
  const std::int64_t room = layout_.shape.room();
  float* flat = network_.parameters;
  // By the router itself: who is drawn tells nothing of what it likes.
  const std::vector<std::int32_t>& liked = draws_experts() ? liked_ones_ : chosen_ones_;
  std::ranges::fill(liked_rows_, 0.0F);
  for (std::int64_t i = 0; i < count * top_k(); ++i)
    liked_rows_[static_cast<std::size_t>(liked[static_cast<std::size_t>(i)])] += 1;
  for (const std::int32_t expert : living_) {
    const float rows = liked_rows_[static_cast<std::size_t>(expert)];
    flat[layout_.activations + expert] += rows;
    float& idle = flat[layout_.idle_steps + expert];
    idle = rows > 0 ? 0 : idle + 1;
  }
  double hesitation = 0;
  for (std::int64_t row = 0; row < count; ++row) {
    const std::int32_t* of_row = &liked[static_cast<std::size_t>(row * top_k())];
    for (std::int64_t k = 1; k < top_k(); ++k) flat[layout_.followers + of_row[0] * room + of_row[k]] += 1;
    share_all(routed_.active[2] + row * router_.layers[1].outputs, living_,
              layout_.shape.settings.temperature, probabilities_.data());
    hesitation += static_cast<double>(hesitation_of(probabilities_.data(), living_));
  }
  flat[layout_.hesitation] += static_cast<float>(hesitation);
  flat[layout_.hesitation + 1] += static_cast<float>(count);
}

void ExpertEngine::share_gradients(std::int64_t count) {
  const int last = layout_.expert.layer_count - 1;
  const std::int64_t stride = layout_.expert.layers[last].outputs;
  const std::int64_t width = layout_.shape.outputs;
  const std::int64_t scores = router_.layers[1].outputs;
  const auto scale = static_cast<float>(1 / layout_.shape.settings.temperature);
  float* of_scores = routed_.deltas[1];
  std::fill_n(of_scores, padded(count, row_block) * scores, 0.0F);
  for (const Group& group : groups_)
    std::fill_n(asked_.deltas[last] + (group.first + group.rows) * stride,
                (padded(group.rows, row_block) - group.rows) * stride, 0.0F);
  for (std::int64_t row = 0; row < count; ++row) {
    const float* gradient = &mixed_gradient_[static_cast<std::size_t>(row * width)];
    const auto first = static_cast<std::size_t>(row * top_k());
    float mean = 0;
    for (std::size_t choice = first; choice < first + static_cast<std::size_t>(top_k()); ++choice) {
      const float* answer = asked_.active[last + 1] + places_[choice] * stride;
      float* delta = asked_.deltas[last] + places_[choice] * stride;
      float worth = 0;
      for (std::int64_t i = 0; i < width; ++i) {
        delta[i] = shares_[choice] * gradient[i];
        worth += gradient[i] * answer[i];
      }
      std::fill(delta + width, delta + stride, 0.0F);
      of_scores[row * scores + chosen_ones_[choice]] = worth;
      mean += shares_[choice] * worth;
    }
    for (std::size_t choice = first; choice < first + static_cast<std::size_t>(top_k()); ++choice) {
      float& delta = of_scores[row * scores + chosen_ones_[choice]];
      delta = scale * shares_[choice] * (delta - mean);
    }
  }
}

// Those that keep experts equally busy and scores small, as the module of the family has them.
void ExpertEngine::add_losses_of_router(std::int64_t count, std::int64_t rows) {
  const ExpertSettings& settings = layout_.shape.settings;
  const std::int64_t stride = router_.layers[1].outputs;
  const auto scale = static_cast<float>(1 / settings.temperature);
  const auto living = static_cast<float>(living_.size());
  const float of_choice = living / static_cast<float>(count * top_k());
  std::vector<float> busy(static_cast<std::size_t>(layout_.shape.room()));
  for (const std::int32_t e : living_)
    busy[static_cast<std::size_t>(e)] = liked_rows_[static_cast<std::size_t>(e)] * of_choice;
  std::size_t term = 1;
  const std::size_t balance_term = settings.load_balance > 0 ? term++ : 0;
  const std::size_t z_term = settings.router_z > 0 ? term : 0;
  for (std::int64_t row = 0; row < count; ++row) {
    const float logarithm =
        share_all(routed_.active[2] + row * stride, living_, settings.temperature, probabilities_.data());
    const float weight = training_rows_.weights == nullptr ? 1 : row_weights_[static_cast<std::size_t>(row)];
    const float of_row = weight * scale / static_cast<float>(rows);
    float balance = 0;
    for (const std::int32_t e : living_)
      balance += probabilities_[static_cast<std::size_t>(e)] * busy[static_cast<std::size_t>(e)];
    const auto by_balance = static_cast<float>(settings.load_balance) * of_row;
    const auto by_z = static_cast<float>(settings.router_z) * of_row * 2 * logarithm;
    for (const std::int32_t e : living_) {
      const float share = probabilities_[static_cast<std::size_t>(e)];
      routed_.deltas[1][row * stride + e] +=
          share * (by_balance * (busy[static_cast<std::size_t>(e)] - balance) + by_z);
    }
    double& total = row_sums_[static_cast<std::size_t>(row)];
    const auto add = [&](std::size_t number, double factor, float value) {
      if (number == 0) return;
      const double weighted = static_cast<double>(weight) * static_cast<double>(value);
      loss_sums_[number] += weighted;
      total += factor * weighted;
    };
    add(balance_term, settings.load_balance, balance);
    add(z_term, settings.router_z, logarithm * logarithm);
  }
}

void ExpertEngine::teach(const Group& group, Gradients what, const Update& update) {
  const Network& expert = experts_[static_cast<std::size_t>(group.expert)];
  float* gradients = gradients_ == nullptr ? nullptr : gradients_ + layout_.expert_at(group.expert);
  if (group.rows == 0) {  // moments move its weights all the same
    if (what == Gradients::updated) return kernels_.update(expert, no_gradients_, update);
    std::fill_n(gradients, expert.size, 0.0F);
    return;
  }
  Workspace space = space_of(group);
  space.gradients = gradients;
  Dropout dropout = dropout_;
  dropout.numbers = &numbers_[static_cast<std::size_t>(group.first)];
  kernels_.backward(expert, space, dropout, what, update);
}

void ExpertEngine::validate() {
  const std::int64_t rows = request_.validation.rows();
  const std::int64_t width = layout_.shape.outputs;
  for (std::int64_t first = 0; first < rows; first += slices_.rows) {
    const std::int64_t count = std::min(slices_.rows, rows - first);
    for (std::int64_t row = 0; row < count; ++row) put_row(validation_rows_, first + row, row);
    forward(count, false);
    kernels::Losses losses = losses_;
    losses.smoothing = 0;
    losses.outputs = mixed_.data();
    if (validation_rows_.classes != nullptr) losses.class_targets = validation_rows_.classes + first;
    if (validation_rows_.targets != nullptr) losses.float_targets = validation_rows_.targets + first * width;
    if (validation_rows_.weights != nullptr) losses.row_weights = validation_rows_.weights + first;
    losses.rows = count;
    losses.row_sums = validation_sums_.data();
    losses.hit_sums = validation_hits();
    kernels::losses(losses);
  }
}

}  // namespace stoker::fused_cpu
