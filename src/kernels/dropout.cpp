#include "kernels/dropout.h"

#include "base/random.h"
#include "kernels/place.h"

namespace stoker::kernels {
namespace {

// Written so that the compiler turns it into vector code: 32-bit indices, no branch.
void fill(float* mask, std::int64_t elements, std::int64_t first, RandomKey key, std::uint32_t threshold,
          float scale) {
  auto first_pair = static_cast<std::uint32_t>(first / 2);
  if (first % 2 != 0 && elements > 0) {
    *mask++ = dropped(random_bits(key, first_pair++), 1, threshold) ? 0.0F : scale;
    --elements;
  }
  const auto pairs = static_cast<std::uint32_t>(elements / 2);
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    const std::uint32_t bits = random_bits(key, first_pair + pair);
    mask[2 * static_cast<std::size_t>(pair)] = dropped(bits, 0, threshold) ? 0.0F : scale;
    mask[2 * static_cast<std::size_t>(pair) + 1] = dropped(bits, 1, threshold) ? 0.0F : scale;
  }
  if (elements % 2 != 0) {
    mask[elements - 1] = dropped(random_bits(key, first_pair + pairs), 0, threshold) ? 0.0F : scale;
  }
}

}  // namespace

void dropout_masks(const DropoutMasks& work) {
  const std::uint32_t threshold = dropout_threshold(work.probability);
  const float scale = 1.0F / (1.0F - work.probability);
  for (int i = 0; i < work.layer_count; ++i) {
    const DropoutMasks::Layer& layer = work.layers[i];
    const RandomKey key = dropout_key(work.seed, static_cast<std::uint64_t>(work.counters->current_step),
                                      work.first_layer + static_cast<std::uint32_t>(i));
    fill(layer.mask, layer.elements, layer.first, key, threshold, scale);
  }
}

void dropout_masks(const DropoutMasks& work, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(dropout_masks_cuda(work, place.stream), "dropout_masks");
  } else {
    dropout_masks(work);
  }
}

}  // namespace stoker::kernels
