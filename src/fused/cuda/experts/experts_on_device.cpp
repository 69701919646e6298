#include "fused/cuda/experts/experts_on_device.h"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <map>
#include <string>

#include "base/error.h"
#include "fused/cuda/device_memory.h"
#include "model/experts/expert_likeness.h"
#include "model/experts/expert_surgery.h"

namespace stoker::fused::experts {
namespace {

static_assert(most_sums == most_compared);

constexpr std::int64_t routed_at_once = 4096;                          // rows
constexpr std::int64_t most_bytes_of_pairs = std::int64_t{256} << 20;  // for blocks that align pairs

std::int64_t pairs_of(std::int64_t room) {
  return std::max<std::int64_t>(1, room * (room - 1) / 2);
}

// Lays out what is compared of an expert, and what a block needs to align two.
SleepWork sleep_work_of(const ExpertWork& training, int blocks) {
  SleepWork work;
  work.layout = training.layout;
  work.top_k = training.top_k;
  work.state[0] = training.parameters;
  work.state[1] = training.first_moment;
  work.state[2] = training.second_moment;
  for (int i = 0; i + 1 < work.layout.layer_count; ++i) {
    const Layer& layer = work.layout.layers[i];
    ComparedLayer& compared = work.compared[i];
    compared.stride = is_compared_by_sums(layer.depth + 1) ? most_sums : (layer.depth + tile) / tile * tile;
    compared.at = work.units_size;
    compared.order_at = static_cast<int>(work.order_size);
    const std::int64_t units = static_cast<std::int64_t>(layer.outputs) * compared.stride;
    work.units_size += units;
    work.order_size += layer.outputs;
    work.reordered_size = std::max(work.reordered_size, units);
    work.likeness_size =
        std::max(work.likeness_size, static_cast<std::int64_t>(layer.outputs) * layer.outputs);
  }
  const std::int64_t bytes = 4 * (work.likeness_size + work.reordered_size);
  const auto most = std::max<std::int64_t>(1, most_bytes_of_pairs / std::max<std::int64_t>(1, bytes));
  work.pair_blocks =
      static_cast<int>(std::min({most, static_cast<std::int64_t>(blocks), pairs_of(work.layout.room)}));
  return work;
}

}  // namespace

struct Sleeping::Memory {
  Memory(const SleepWork& work, std::int64_t count, Device device, Stream stream)
      : features(floats(count * work.layout.router[0].inputs, device, stream)),
        inner(floats(std::min(count, routed_at_once) * work.layout.router[0].outputs, device, stream)),
        scores(floats(std::min(count, routed_at_once) * work.layout.router[1].outputs, device, stream)),
        hesitation(floats(count, device, stream)),
        chosen(floats(count * work.top_k, device, stream)),
        shares(floats(count * work.top_k, device, stream)),
        centres(doubles(static_cast<std::int64_t>(work.layout.room) * work.layout.router[0].inputs, device,
                        stream)),
        pairs(doubles(pairs_of(work.layout.room), device, stream)),
        cosines(doubles(pairs_of(work.layout.room), device, stream)),
        adaptation(doubles(work.layout.room, device, stream)),
        units(floats(work.layout.room * work.units_size, device, stream)),
        squares(doubles(work.layout.room, device, stream)),
        likeness(floats(work.pair_blocks * work.likeness_size, device, stream)),
        reordered(floats(work.pair_blocks * work.reordered_size, device, stream)),
        orders(floats(work.pair_blocks * work.order_size, device, stream)),
        deviations(doubles(2 * most_layers + 1, device, stream)),
        staged_pairs(pinned_memory(pairs.bytes())),
        seen_numbers(pinned_memory(std::max(cosines.bytes(), adaptation.bytes()))),
        seen_buffers(pinned_memory(static_cast<std::size_t>(work.layout.size - work.layout.alive) * 4)),
        seen_chosen(pinned_memory(chosen.bytes())),
        seen_shares(pinned_memory(shares.bytes())),
        seen_hesitation(pinned_memory(hesitation.bytes())) {
    for (int i = 0; i + 1 < work.layout.layer_count; ++i) {
      const std::int64_t values = work.layout.layers[i].depth + 1;
      if (!is_compared_by_sums(values)) continue;
      const std::vector<float>& all = brought.emplace_back(signs_of_sums(values));
      signs[static_cast<std::size_t>(i)] = floats(std::ssize(all), device, stream);
      upload(signs[static_cast<std::size_t>(i)], 0, all.data(), all.size(), stream);
    }
  }

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const Array* each : {&features, &inner, &scores, &hesitation, &chosen, &shares, &centres, &pairs,
                              &cosines, &adaptation, &units, &squares, &likeness, &reordered, &orders})
      sum += each->bytes();
    return sum;
  }

  static Array floats(std::int64_t count, Device device, Stream stream) {
    return device_memory<float>(static_cast<std::size_t>(count), device, stream);
  }
  static Array doubles(std::int64_t count, Device device, Stream stream) {
    return device_memory<double>(static_cast<std::size_t>(count), device, stream);
  }

  Array features, inner, scores, hesitation, chosen, shares;  // of the rows that are remembered
  Array centres, pairs, cosines, adaptation, units, squares, likeness, reordered, orders, deviations;
  std::array<Array, most_layers> signs;
  std::deque<std::vector<float>> brought;  // what is on its way there; not needed once somebody has waited
  // Of the host.
  Array staged_pairs, seen_numbers, seen_buffers, seen_chosen, seen_shares, seen_hesitation;
};

bool may_sleep(const ExpertShape& shape) {
  return shape.settings.life.sleep || shape.settings.life.growth;
}

Sleeping::Sleeping(const EngineRequest& request, const ExpertShape& shape, const ExpertWork& work,
                   Array& living, int blocks, const OwnStream& stream)
    : shape_(shape),
      device_(request.device),
      blocks_(blocks),
      stream_(stream),
      router_(work),
      work_(sleep_work_of(work, blocks)),
      memory_(std::make_unique<Memory>(work_,
                                       std::min(shape.settings.life.replay_rows, request.rows_per_epoch()),
                                       request.device, stream.get())) {
  Memory& memory = *memory_;
  work_.living = pointer<std::int32_t>(living);
  work_.features = pointer<float>(memory.features);
  work_.chosen = pointer<std::int32_t>(memory.chosen);
  work_.shares = pointer<float>(memory.shares);
  work_.centres = pointer<double>(memory.centres);
  work_.pairs = pointer<PlacePair>(memory.pairs);
  work_.cosines = pointer<double>(memory.cosines);
  work_.adaptation = pointer<double>(memory.adaptation);
  work_.units = pointer<float>(memory.units);
  work_.squares = pointer<double>(memory.squares);
  work_.likeness = pointer<float>(memory.likeness);
  work_.reordered = pointer<float>(memory.reordered);
  work_.orders = pointer<std::int32_t>(memory.orders);
  work_.deviations = pointer<double>(memory.deviations);
  for (std::size_t i = 0; i < memory.signs.size(); ++i)
    if (!memory.signs[i].empty()) work_.compared[i].signs = pointer<float>(memory.signs[i]);
  // As in training, so that it tells of hesitation too, but without what training adds to scores.
  router_.noise = 0;
  router_.exploration = 0;
  router_.is_training = true;
  router_.inner = pointer<float>(memory.inner);
  router_.scores = pointer<float>(memory.scores);
  stream_.wait();
  memory.brought.clear();
}

Sleeping::~Sleeping() = default;

std::uint64_t Sleeping::bytes() const {
  return memory_->bytes();
}

// One edit. What the host knows of the buffers is changed with them.
class ExpertsOnDevice : public ExpertState {
 public:
  explicit ExpertsOnDevice(Sleeping& of) : of_(of), memory_(*of.memory_) {
    check(cudaSetDevice(of.device_.index), "choosing a GPU");
  }

  std::span<const float> values(const char* buffer) override { return known(buffer); }
  ExpertRoutes route(const Dataset& rows) override;
  std::vector<double> cosines_of_rows(const ExpertRoutes& routes, const Dataset& rows,
                                      std::span<const ExpertPair> pairs) override;
  std::vector<double> adaptation_of(std::span<const std::int64_t> places) override;
  std::vector<double> align(std::span<const ExpertPair> pairs) override;
  void bear(std::int64_t parent, std::int64_t place, RandomKey noise) override;
  void merge(std::size_t pair, double share_of_one) override;
  void remove(std::int64_t place, std::int64_t neighbour, double share) override;
  void clear_usage() override;
  void clear_hesitation() override { clear(hesitation_name, layout().hesitation); }

 private:
  const Layout& layout() const { return of_.work_.layout; }
  std::size_t room() const { return static_cast<std::size_t>(layout().room); }

  void fetch(Array& to, const Array& from, std::size_t bytes) {
    check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToHost, of_.stream_.get()),
          "copying from the GPU");
  }
  void carry_out(const SleepOrder& order) {
    check(launch_sleep(of_.work_, order, of_.blocks_, of_.stream_.get()), "editing experts");
  }
  std::vector<double> compare(SleepOrder::Kind kind, std::span<const ExpertPair> pairs);
  void bring(const Array& features);

  std::vector<float>& known(const std::string& buffer);
  void clear(const char* buffer, std::int64_t at);
  void forget(std::int64_t place);

  Sleeping& of_;
  Sleeping::Memory& memory_;
  std::map<std::string, std::vector<float>> known_;  // buffers by name; empty before they were read
};

std::unique_ptr<ExpertState> Sleeping::edit() {
  return std::make_unique<ExpertsOnDevice>(*this);
}

// All of them lie behind the experts, one behind the other.
std::vector<float>& ExpertsOnDevice::known(const std::string& buffer) {
  if (known_.empty()) {
    const Layout& of = layout();
    const auto count = static_cast<std::size_t>(of.size - of.alive);
    check(cudaMemcpyAsync(memory_.seen_buffers.data(), of_.work_.state[0] + of.alive, 4 * count,
                          cudaMemcpyDeviceToHost, of_.stream_.get()),
          "copying from the GPU");
    of_.stream_.wait();
    const float* seen = pointer<float>(memory_.seen_buffers);
    const auto read = [&](const char* name, std::int64_t at, std::size_t size, bool is_count) {
      std::vector<float>& values = known_[name];
      values.assign(seen + (at - of.alive), seen + (at - of.alive) + size);
      if (!is_count) return;
      for (float& each : values) each = static_cast<float>(std::bit_cast<std::uint32_t>(each));
    };
    read(alive_name, of.alive, room(), false);
    read(activations_name, of.activations, room(), true);
    read(idle_steps_name, of.idle_steps, room(), true);
    read(followers_name, of.followers, room() * room(), true);
    read(hesitation_name, of.hesitation, 2, false);
  }
  const auto found = known_.find(buffer);
  if (found == known_.end()) fail("experts have no buffer '{}'", buffer);
  return found->second;
}

// Those that are new, in rows of the kernels' width.
void ExpertsOnDevice::bring(const Array& features) {
  const std::int64_t rows = features.dimension(0), columns = features.dimension(1);
  const std::int64_t stride = layout().router[0].inputs;
  if (columns != of_.shape_.inputs || rows * stride * 4 > static_cast<std::int64_t>(memory_.features.bytes()))
    fail("experts were shown {} rows of {} numbers", rows, columns);
  const bool are_others = of_.rows_.data() != features.data();
  const std::int64_t first = are_others ? 0 : std::min(of_.brought_, rows);
  if (first < rows) {
    std::vector<float> laid(static_cast<std::size_t>((rows - first) * stride), 0.0F);
    const float* values = features.as<float>().data();
    for (std::int64_t row = first; row < rows; ++row)
      std::copy_n(values + row * columns, columns, laid.begin() + (row - first) * stride);
    upload(memory_.features, static_cast<std::size_t>(first * stride), laid.data(), laid.size(),
           of_.stream_.get());
    of_.stream_.wait();
    of_.brought_ = rows;
  }
  of_.rows_ = features;  // whose memory nobody else has as long as it is held here
}

ExpertRoutes ExpertsOnDevice::route(const Dataset& rows) {
  bring(rows.features());
  const std::int64_t count = rows.rows(), top = of_.work_.top_k;
  of_.work_.choices = count * top;
  for (std::int64_t first = 0; first < count; first += routed_at_once) {
    ExpertWork part = of_.router_;
    part.fixed_rows = std::min(routed_at_once, count - first);
    part.features = of_.work_.features + first * layout().router[0].inputs;
    part.hesitation = pointer<float>(memory_.hesitation, static_cast<std::size_t>(first));
    part.chosen = pointer<std::int32_t>(memory_.chosen, static_cast<std::size_t>(first * top));
    part.shares = pointer<float>(memory_.shares, static_cast<std::size_t>(first * top));
    check(launch_routes(part, of_.blocks_, of_.stream_.get()), "routing the rows that are remembered");
  }
  const auto choices = static_cast<std::size_t>(count * top);
  fetch(memory_.seen_chosen, memory_.chosen, 4 * choices);
  fetch(memory_.seen_shares, memory_.shares, 4 * choices);
  fetch(memory_.seen_hesitation, memory_.hesitation, 4 * static_cast<std::size_t>(count));
  of_.stream_.wait();
  const auto* chosen = pointer<std::int32_t>(memory_.seen_chosen);
  const float* shares = pointer<float>(memory_.seen_shares);
  const float* hesitation = pointer<float>(memory_.seen_hesitation);
  return {{chosen, chosen + choices}, {shares, shares + choices}, {hesitation, hesitation + count}};
}

std::vector<double> ExpertsOnDevice::compare(SleepOrder::Kind kind, std::span<const ExpertPair> pairs) {
  if (pairs.empty()) return {};
  auto* staged = pointer<PlacePair>(memory_.staged_pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i)
    staged[i] = {static_cast<std::int32_t>(pairs[i].one), static_cast<std::int32_t>(pairs[i].other)};
  upload(memory_.pairs, 0, staged, pairs.size(), of_.stream_.get());
  of_.work_.pair_count = static_cast<int>(pairs.size());
  carry_out({.kind = kind});
  fetch(memory_.seen_numbers, memory_.cosines, pairs.size() * sizeof(double));
  of_.stream_.wait();
  const auto* seen = pointer<double>(memory_.seen_numbers);
  return {seen, seen + pairs.size()};
}

std::vector<double> ExpertsOnDevice::cosines_of_rows(const ExpertRoutes&, const Dataset&,
                                                     std::span<const ExpertPair> pairs) {
  return compare(SleepOrder::Kind::compare_rows, pairs);
}

std::vector<double> ExpertsOnDevice::align(std::span<const ExpertPair> pairs) {
  return compare(SleepOrder::Kind::align, pairs);
}

std::vector<double> ExpertsOnDevice::adaptation_of(std::span<const std::int64_t> places) {
  std::vector<double> rates(places.size(), 0.0);
  if (of_.work_.state[2] == nullptr) return rates;
  carry_out({.kind = SleepOrder::Kind::adaptation});
  fetch(memory_.seen_numbers, memory_.adaptation, room() * sizeof(double));
  of_.stream_.wait();
  for (std::size_t i = 0; i < places.size(); ++i)
    rates[i] = *pointer<double>(memory_.seen_numbers, static_cast<std::size_t>(places[i]));
  return rates;
}

void ExpertsOnDevice::forget(std::int64_t place) {
  const auto own = static_cast<std::size_t>(place);
  for (const char* each : {alive_name, activations_name, idle_steps_name}) known(each)[own] = 0;
  std::vector<float>& followers = known(followers_name);
  for (std::size_t i = 0; i < room(); ++i) followers[own * room() + i] = followers[i * room() + own] = 0;
}

void ExpertsOnDevice::bear(std::int64_t parent, std::int64_t place, RandomKey noise) {
  forget(place);
  carry_out({.kind = SleepOrder::Kind::bear,
             .place = static_cast<int>(place),
             .other = static_cast<int>(parent),
             .noise = noise,
             .of_weights = noise_of_newborn,
             .of_router = noise_of_newborn_router});
  known(alive_name)[static_cast<std::size_t>(place)] = 1;
}

void ExpertsOnDevice::merge(std::size_t pair, double share_of_one) {
  const PlacePair of = *pointer<PlacePair>(memory_.staged_pairs, pair);
  forget(of.other);
  carry_out({.kind = SleepOrder::Kind::merge,
             .place = of.one,
             .other = of.other,
             .pair = static_cast<int>(pair),
             .share = static_cast<float>(share_of_one)});
}

void ExpertsOnDevice::remove(std::int64_t place, std::int64_t neighbour, double share) {
  forget(place);
  carry_out({.kind = SleepOrder::Kind::remove,
             .place = static_cast<int>(place),
             .other = static_cast<int>(neighbour),
             .share = static_cast<float>(share)});
}

void ExpertsOnDevice::clear(const char* buffer, std::int64_t at) {
  std::vector<float>& values = known(buffer);
  std::ranges::fill(values, 0.0F);
  check(cudaMemsetAsync(of_.work_.state[0] + at, 0, 4 * values.size(), of_.stream_.get()),
        "clearing what was counted");
}

void ExpertsOnDevice::clear_usage() {
  clear(activations_name, layout().activations);
  clear(followers_name, layout().followers);
}

}  // namespace stoker::fused::experts
