#pragma once

#include <cstdint>

namespace stoker::kernels {

// Of the values between the layers of a network.
enum class FloatFormat : std::uint8_t { fp32, bf16, fp16 };

}  // namespace stoker::kernels
