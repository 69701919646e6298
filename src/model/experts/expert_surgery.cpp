#include "model/experts/expert_surgery.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace stoker {
namespace {

double deviation_of(std::span<const float> values) {
  double sum = 0;
  for (const float each : values) sum += static_cast<double>(each) * static_cast<double>(each);
  return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
}

template <class Value>
std::span<Value> row_of(std::span<Value> values, std::int64_t row, std::int64_t rows) {
  const std::size_t size = values.size() / static_cast<std::size_t>(rows);
  return values.subspan(static_cast<std::size_t>(row) * size, size);
}

void copy_with_noise(std::span<const float> from, double noise, RandomKey key, std::uint32_t first,
                     std::span<float> to) {
  const double deviation = noise * deviation_of(from);
  for (std::size_t i = 0; i < from.size(); ++i)
    to[i] = from[i] + static_cast<float>(deviation * normal(key, first + static_cast<std::uint32_t>(i)));
}

}  // namespace

ExpertArrays::ExpertArrays(const ExpertShape& shape, NamedArrays& state) : shape_(&shape), state_(&state) {
  const auto has = [&](const std::string& name) {
    return std::ranges::any_of(state, [&](const NamedArray& each) { return each.name == name; });
  };
  if (has(std::string("parameters.") + alive_name)) prefix_ = "parameters.";
  const auto expect = [&](const std::string& name, const Shape& wanted) {
    const Array& array = find(full(name)).array;
    if (array.type() != DType::float32 || array.shape() != wanted)
      refuse("the array '{}' does not fit these experts: it belongs to others", name);
  };
  const std::int64_t room = shape.room();
  expect("router.outer.weight", {room, shape.router_width()});
  expect("router.outer.bias", {room});
  for (std::size_t i = 0; i < shape.layer_count(); ++i) {
    expect(expert_weight(i), {room, shape.layer_outputs(i), shape.layer_inputs(i)});
    expect(expert_bias(i), {room, shape.layer_outputs(i)});
  }
  expect(alive_name, {room});
  expect(activations_name, {room});
  expect(idle_steps_name, {room});
  expect(followers_name, {room, room});
  expect(hesitation_name, {2});
}

NamedArray& ExpertArrays::find(const std::string& name) const {
  const auto found = std::ranges::find(*state_, name, &NamedArray::name);
  if (found == state_->end()) refuse("there is no array '{}' of the experts", name);
  return *found;
}

std::span<const float> ExpertArrays::values(const std::string& name) const {
  return std::as_const(find(full(name)).array).as<float>();
}

std::span<float> ExpertArrays::change(const std::string& name) {
  NamedArray& found = find(name);
  if (std::ranges::find(changed_, name) == changed_.end()) {
    found.array = found.array.clone();
    changed_.push_back(name);
  }
  return found.array.as<float>();
}

bool ExpertArrays::is_alive(std::int64_t place) const {
  return values(alive_name)[static_cast<std::size_t>(place)] != 0;
}

std::vector<std::int32_t> ExpertArrays::living() const {
  std::vector<std::int32_t> all;
  for (std::int64_t e = 0; e < shape_->room(); ++e)
    if (is_alive(e)) all.push_back(static_cast<std::int32_t>(e));
  return all;
}

ExpertLayerView ExpertArrays::layer(std::int64_t place, std::size_t number) const {
  return {row_of(values(expert_weight(number)), place, shape_->room()),
          row_of(values(expert_bias(number)), place, shape_->room()), shape_->layer_inputs(number),
          shape_->layer_outputs(number)};
}

std::vector<std::string> ExpertArrays::prefixes() const {
  std::vector<std::string> all{prefix_};
  if (prefix_.empty()) return all;
  for (const char* each : {"first_moment.", "second_moment."}) {
    const std::string name = std::string(each) + "router.outer.bias";
    if (std::ranges::any_of(*state_, [&](const NamedArray& array) { return array.name == name; }))
      all.emplace_back(each);
  }
  return all;
}

double ExpertArrays::adaptation_of(std::int64_t place) const {
  if (prefixes().size() < 3) return 0;
  const std::string name = expert_weight(shape_->layer_count() - 1);
  const auto first =
      row_of(std::as_const(find("first_moment." + name).array).as<float>(), place, shape_->room());
  const auto second =
      row_of(std::as_const(find("second_moment." + name).array).as<float>(), place, shape_->room());
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!(second[i] > 0)) continue;
    sum += std::min(1.0, static_cast<double>(std::abs(first[i]) / std::sqrt(second[i])));
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

NamedArrays ExpertArrays::parameters() const {
  NamedArrays all;
  for (const NamedArray& each : *state_)
    if (each.name.starts_with(prefix_)) all.push_back({each.name.substr(prefix_.size()), each.array});
  return all;
}

void ExpertArrays::make_zero(std::int64_t place) {
  const auto clear = [&](const std::string& name) {
    std::ranges::fill(row_of(change(name), place, shape_->room()), 0.0F);
  };
  for (const std::string& prefix : prefixes()) {
    clear(prefix + "router.outer.weight");
    clear(prefix + "router.outer.bias");
    for (std::size_t i = 0; i < shape_->layer_count(); ++i) {
      clear(prefix + expert_weight(i));
      clear(prefix + expert_bias(i));
    }
  }
  for (const char* each : {alive_name, activations_name, idle_steps_name, followers_name}) clear(full(each));
  const auto followers = change(full(followers_name));
  for (std::int64_t e = 0; e < shape_->room(); ++e)
    followers[static_cast<std::size_t>(e * shape_->room() + place)] = 0;
}

void ExpertArrays::bear(std::int64_t parent, std::int64_t place, RandomKey noise) {
  make_zero(place);
  std::uint32_t drawn = 0;
  const auto copy = [&](const std::string& name, double share) {
    const auto all = change(full(name));
    const auto from = row_of(std::span<const float>(all), parent, shape_->room());
    copy_with_noise(from, share, noise, drawn, row_of(all, place, shape_->room()));
    drawn += static_cast<std::uint32_t>(from.size());
  };
  for (std::size_t i = 0; i < shape_->layer_count(); ++i) {
    copy(expert_weight(i), noise_of_newborn);
    copy(expert_bias(i), noise_of_newborn);
  }
  copy("router.outer.weight", noise_of_newborn_router);
  copy("router.outer.bias", 0);
  change(full(alive_name))[static_cast<std::size_t>(place)] = 1;
}

void ExpertArrays::begin(std::int64_t place, RandomKey key) {
  make_zero(place);
  std::uint32_t drawn = 0;
  const auto draw = [&](const std::string& name, std::int64_t inputs) {
    const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
    for (float& each : row_of(change(full(name)), place, shape_->room()))
      each = static_cast<float>((2 * uniform(key, drawn++) - 1) * bound);
  };
  for (std::size_t i = 0; i < shape_->layer_count(); ++i) {
    draw(expert_weight(i), shape_->layer_inputs(i));
    draw(expert_bias(i), shape_->layer_inputs(i));
  }
  draw("router.outer.weight", shape_->router_width());
  draw("router.outer.bias", shape_->router_width());
  change(full(alive_name))[static_cast<std::size_t>(place)] = 1;
}

void ExpertArrays::rest(std::int64_t place, bool rests) {
  change(full(alive_name))[static_cast<std::size_t>(place)] = rests ? 0 : 1;
  change(full(idle_steps_name))[static_cast<std::size_t>(place)] = 0;
}

void ExpertArrays::put_back(std::int64_t place, const NamedArrays& before) {
  const auto copy = [&](const std::string& name) {
    const auto from = row_of(find_array(before, name).as<float>(), place, shape_->room());
    std::ranges::copy(from, row_of(change(full(name)), place, shape_->room()).begin());
  };
  for (std::size_t i = 0; i < shape_->layer_count(); ++i) {
    copy(expert_weight(i));
    copy(expert_bias(i));
  }
  copy("router.outer.weight");
  copy("router.outer.bias");
}

void ExpertArrays::mix_router(std::int64_t into, std::int64_t from, double share_of_from) {
  const auto share = static_cast<float>(share_of_from);
  for (const std::string& prefix : prefixes()) {
    for (const char* name : {"router.outer.weight", "router.outer.bias"}) {
      const auto all = change(prefix + name);
      const auto to = row_of(all, into, shape_->room());
      const auto other = row_of(all, from, shape_->room());
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = (1 - share) * to[i] + share * other[i];
    }
  }
}

void ExpertArrays::merge(std::int64_t kept, std::int64_t gone, double share_of_kept,
                         std::span<const std::vector<std::int32_t>> units) {
  const auto own = static_cast<float>(share_of_kept);
  const auto unit_of = [&](std::size_t layer, std::int64_t unit) {
    return layer < units.size() ? units[layer][static_cast<std::size_t>(unit)] : unit;
  };
  for (const std::string& prefix : prefixes()) {
    for (std::size_t i = 0; i < shape_->layer_count(); ++i) {
      const std::int64_t inputs = shape_->layer_inputs(i);
      const std::int64_t outputs = shape_->layer_outputs(i);
      const auto weights = change(prefix + expert_weight(i));
      const auto biases = change(prefix + expert_bias(i));
      const auto to = row_of(weights, kept, shape_->room());
      const auto from = row_of(weights, gone, shape_->room());
      const auto to_bias = row_of(biases, kept, shape_->room());
      const auto from_bias = row_of(biases, gone, shape_->room());
      for (std::int64_t out = 0; out < outputs; ++out) {
        const std::int64_t other = unit_of(i, out);
        to_bias[static_cast<std::size_t>(out)] = own * to_bias[static_cast<std::size_t>(out)] +
                                                 (1 - own) * from_bias[static_cast<std::size_t>(other)];
        for (std::int64_t in = 0; in < inputs; ++in) {
          float& value = to[static_cast<std::size_t>(out * inputs + in)];
          const std::int64_t entered = i == 0 ? in : unit_of(i - 1, in);
          value = own * value + (1 - own) * from[static_cast<std::size_t>(other * inputs + entered)];
        }
      }
    }
  }
  remove(gone, kept, 1 - share_of_kept);
}

void ExpertArrays::remove(std::int64_t place, std::int64_t neighbour, double share) {
  if (neighbour >= 0) mix_router(neighbour, place, share);
  make_zero(place);
}

void ExpertArrays::clear_usage() {
  std::ranges::fill(change(full(activations_name)), 0.0F);
  std::ranges::fill(change(full(followers_name)), 0.0F);
}

void ExpertArrays::clear_hesitation() {
  std::ranges::fill(change(full(hesitation_name)), 0.0F);
}

}  // namespace stoker
