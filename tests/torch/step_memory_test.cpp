#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "model/family.h"
#include "model/network/transformer.h"
#include "torch/modules/module.h"
#include "torch/tensors.h"

// What a training step of seed 001's transformer takes between its layers, counted in bytes.
namespace stoker::torch_door {
namespace {

// Of the whole process, for as long as it lives: what LibTorch asks for on the CPU.
class CountingAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const std::size_t rounded = (bytes + before_data - 1) / before_data * before_data;
    auto* block = static_cast<char*>(std::aligned_alloc(before_data, before_data + rounded));
    std::memcpy(block, &rounded, sizeof rounded);
    live_ += rounded;
    peak_ = std::max(peak_, live_.load());
    return {block + before_data, block + before_data, release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

  static std::size_t live() { return live_; }
  static std::size_t peak() { return peak_; }
  static void begin() { peak_ = live_.load(); }

 private:
  static constexpr std::size_t before_data = 64;  // holds the size, and keeps what follows aligned
  static void release(void* data) {
    if (data == nullptr) return;
    char* block = static_cast<char*>(data) - before_data;
    std::size_t bytes = 0;
    std::memcpy(&bytes, block, sizeof bytes);
    live_ -= bytes;
    std::free(block);
  }
  static inline std::atomic<std::size_t> live_{0};
  static inline std::size_t peak_ = 0;
};

// What was allocated before goes back where it came from.
void count_from_now_on() {
  static CountingAllocator allocator;
  static const bool is_set = (c10::SetCPUAllocator(&allocator, /*priority=*/100), true);
  static_cast<void>(is_set);
  CountingAllocator::begin();
}

constexpr std::int64_t rows = 256;

Network w3() {
  return {"transformer",
          config::write(TransformerSettings{}),
          {{"window", Role::features, DType::float32, {20, 29}}},
          3};
}

// While it lives, products have operands of that type. For fp32 it changes nothing but that layers of our
// own, which a GPU does not have, stay out of the way.
class CastTo {
 public:
  explicit CastTo(at::ScalarType type) : before_(at::autocast::get_autocast_dtype(at::kCPU)) {
    at::autocast::set_autocast_cache_enabled(false);
    at::autocast::set_autocast_dtype(at::kCPU, type);
    at::autocast::set_autocast_enabled(at::kCPU, true);
  }
  CastTo(const CastTo&) = delete;
  CastTo& operator=(const CastTo&) = delete;
  ~CastTo() {
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::set_autocast_dtype(at::kCPU, before_);
    at::autocast::set_autocast_cache_enabled(true);
  }

 private:
  at::ScalarType before_;
};

// Of the weights with their gradients and of a step; in `kept`, what lies between the way there and back.
std::size_t peak_of_step(at::ScalarType type, std::size_t& kept) {
  count_from_now_on();
  const std::size_t before = CountingAllocator::live();
  std::map<std::string, at::Tensor> tensors;
  for (const NamedArray& each : initial_parameters(w3(), 5)) {
    tensors[each.name] = view_of(each.array).clone();
    tensors[each.name].requires_grad_(true);
  }
  const std::unique_ptr<Module> module =
      make_module(w3(), [&](const std::string& name) { return tensors.at(name); });
  at::Tensor window = at::zeros({rows, 20, 29});
  const RandomKey key = random_key(7, Purpose::sample, 0);
  for (std::int64_t i = 0; i < window.numel(); ++i)
    window.mutable_data_ptr<float>()[i] = static_cast<float>(uniform(key, static_cast<std::uint32_t>(i)));
  const std::vector<DropoutLayer> layers = module->dropout_layers();
  const kernels::StepCounters counters;
  Pass pass{true, layers};
  pass.part.counters = &counters;
  at::Tensor outputs;
  {
    const CastTo casts(type);
    outputs = module->outputs({&window, 1}, pass).to(at::kFloat);
  }
  kept = CountingAllocator::live() - before;
  outputs.backward(at::ones({rows, 3}));
  return CountingAllocator::peak() - before;
}

TEST(StepMemory, OfATransformerInBf16IsAtMostTwoThirdsOfThatInFp32) {
  std::size_t kept_in_fp32 = 0;
  std::size_t kept_in_bf16 = 0;
  const std::size_t fp32 = peak_of_step(at::kFloat, kept_in_fp32);
  const std::size_t bf16 = peak_of_step(at::kBFloat16, kept_in_bf16);
  // Two moments and the best weights, which are fp32 always.
  const std::size_t beside = 3 * 608'003 * sizeof(float);
  RecordProperty("fp32", std::to_string(fp32 + beside));
  RecordProperty("bf16", std::to_string(bf16 + beside));
  EXPECT_LE(static_cast<double>(bf16 + beside), static_cast<double>(fp32 + beside) * 2 / 3)
      << bf16 << " and " << fp32 << " bytes";
  EXPECT_LE(static_cast<double>(kept_in_bf16), static_cast<double>(kept_in_fp32) * 2 / 3)
      << kept_in_bf16 << " and " << kept_in_fp32 << " bytes";
}

// Dropout keeps nothing: with it, what is kept is what each layer reads.
TEST(StepMemory, OfATransformerHasNoMasks) {
  std::size_t kept = 0;
  peak_of_step(at::kFloat, kept);
  // In values of a moment of width 128: a mask of each layer alone would be 7.25 of them.
  const double units = static_cast<double>(kept) / static_cast<double>(rows * 20 * 128 * sizeof(float));
  EXPECT_LT(units / 3, 24);
}

}  // namespace
}  // namespace stoker::torch_door
