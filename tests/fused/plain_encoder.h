#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "fused/cpu/encoder_block.h"
#include "fused/plain_activation.h"

// An encoder layer in double precision, written as the formulas stand in a book: what kernels are held to.
namespace stoker::test {

using Doubles = std::vector<double>;

// What enters, then the weights in the order of torch.nn.TransformerEncoderLayer.
using EncoderArrays = std::array<Doubles, 13>;
using EncoderMaskArrays = std::array<std::vector<float>, 4>;  // empty: nothing is left out

inline Doubles plain_linear(const Doubles& in, std::size_t inputs, const Doubles& weight,
                            const Doubles& bias) {
  const std::size_t outputs = bias.size();
  Doubles out(in.size() / inputs * outputs);
  for (std::size_t row = 0; row < in.size() / inputs; ++row)
    for (std::size_t o = 0; o < outputs; ++o) {
      double sum = bias[o];
      for (std::size_t i = 0; i < inputs; ++i) sum += in[row * inputs + i] * weight[o * inputs + i];
      out[row * outputs + o] = sum;
    }
  return out;
}

inline Doubles plain_norm(const Doubles& in, const Doubles& weight, const Doubles& bias, double epsilon) {
  const std::size_t width = weight.size();
  Doubles out(in.size());
  for (std::size_t row = 0; row < in.size() / width; ++row) {
    const double* x = in.data() + row * width;
    double mean = 0;
    double variance = 0;
    for (std::size_t i = 0; i < width; ++i) mean += x[i] / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i)
      variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i)
      out[row * width + i] = (x[i] - mean) / std::sqrt(variance + epsilon) * weight[i] + bias[i];
  }
  return out;
}

inline void plain_drop(Doubles& values, const std::vector<float>& mask) {
  if (mask.empty()) return;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= static_cast<double>(mask[i]);
}

inline Doubles plain_attention(const fused_cpu::AttentionShape& shape, const Doubles& projected,
                               const std::vector<float>& mask) {
  const auto length = static_cast<std::size_t>(shape.length);
  const auto share = static_cast<std::size_t>(shape.share);
  const auto width = static_cast<std::size_t>(shape.width());
  Doubles context(projected.size() / 3);
  for (std::size_t window = 0; window < context.size() / (length * width); ++window)
    for (std::size_t head = 0; head < static_cast<std::size_t>(shape.heads); ++head)
      for (std::size_t i = 0; i < length; ++i) {
        const auto at = [&](std::size_t moment, std::size_t kind, std::size_t d) {
          return projected[(window * length + moment) * 3 * width + kind * width + head * share + d];
        };
        Doubles shares(length);
        double sum = 0;
        for (std::size_t j = 0; j < length; ++j) {
          double score = 0;
          for (std::size_t d = 0; d < share; ++d) score += at(i, 0, d) * at(j, 1, d);
          sum += shares[j] = std::exp(score / std::sqrt(static_cast<double>(share)));
        }
        for (std::size_t j = 0; j < length; ++j) {
          const std::size_t heads = static_cast<std::size_t>(shape.heads);
          double taken = shares[j] / sum;
          if (!mask.empty())
            taken *= static_cast<double>(mask[((window * heads + head) * length + i) * length + j]);
          for (std::size_t d = 0; d < share; ++d)
            context[(window * length + i) * width + head * share + d] += taken * at(j, 2, d);
        }
      }
  return context;
}

inline Doubles plain_encoder(const fused_cpu::EncoderShape& shape, const EncoderArrays& all,
                             const EncoderMaskArrays& masks) {
  const auto width = static_cast<std::size_t>(shape.width());
  const double epsilon = static_cast<double>(shape.epsilon);
  const Doubles projected = plain_linear(plain_norm(all[0], all[9], all[10], epsilon), width, all[1], all[2]);
  Doubles sum = plain_linear(plain_attention(shape.attention, projected, masks[0]), width, all[3], all[4]);
  plain_drop(sum, masks[1]);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += all[0][i];
  Doubles inner = plain_linear(plain_norm(sum, all[11], all[12], epsilon), width, all[5], all[6]);
  for (double& each : inner) each = activated(shape.activation, each);
  plain_drop(inner, masks[2]);
  Doubles out = plain_linear(inner, static_cast<std::size_t>(shape.inner), all[7], all[8]);
  plain_drop(out, masks[3]);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += sum[i];
  return out;
}

}  // namespace stoker::test
