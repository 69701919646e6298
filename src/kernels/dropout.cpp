#include "kernels/dropout.h"

#include "base/error.h"
#include "base/random.h"
#include "kernels/bfloat16.h"
#include "kernels/place.h"

namespace stoker::kernels {
namespace {

// Written so that the compiler turns it into vector code: 32-bit indices, no branch.
template <class Value>
void drop_values(const Drop& work) {
  const auto* values = static_cast<const Value*>(work.values);
  auto* left = static_cast<Value*>(work.left);
  const RandomKey key =
      dropout_key(work.seed, static_cast<std::uint64_t>(work.counters->current_step), work.layer);
  const std::uint32_t threshold = dropout_threshold(work.probability);
  const float scale = 1.0F / (1.0F - work.probability);
  const auto factor = [&](std::uint32_t bits, std::uint32_t element) {
    return dropped(bits, element, threshold) ? 0.0F : scale;
  };
  std::int64_t elements = work.elements;
  auto first_pair = static_cast<std::uint32_t>(work.first / 2);
  if (work.first % 2 != 0 && elements > 0) {
    narrow(widened(*values++) * factor(random_bits(key, first_pair++), 1), *left++);
    --elements;
  }
  const auto pairs = static_cast<std::uint32_t>(elements / 2);
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    const std::uint32_t bits = random_bits(key, first_pair + pair);
    const std::size_t even = 2 * static_cast<std::size_t>(pair);
    narrow(widened(values[even]) * factor(bits, 0), left[even]);
    narrow(widened(values[even + 1]) * factor(bits, 1), left[even + 1]);
  }
  if (elements % 2 != 0)
    narrow(widened(values[elements - 1]) * factor(random_bits(key, first_pair + pairs), 0),
           left[elements - 1]);
}

}  // namespace

void drop(const Drop& work) {
  switch (work.format) {
    case FloatFormat::fp32:
      return drop_values<float>(work);
    case FloatFormat::bf16:
      return drop_values<BFloat16>(work);
    case FloatFormat::fp16:
      break;
  }
  fail("dropout of fp16 is not written for CPUs");
}

void drop(const Drop& work, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(drop_cuda(work, place.stream), "drop");
  } else {
    drop(work);
  }
}

}  // namespace stoker::kernels
