#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/family.h"

// What layers are made of, under the names and with the initial values that torch.nn gives them.
namespace stoker {

constexpr double norm_epsilon = 1e-5;
constexpr double batch_norm_momentum = 0.1;  // share of a batch in the running statistics

using ParameterSpecs = std::vector<ParameterSpec>;

// NAME.weight [outputs, inputs] and NAME.bias; refuses one that is too large.
void add_linear(const std::string& name, std::int64_t inputs, std::int64_t outputs, ParameterSpecs& specs);
// NAME.weight and NAME.bias.
void add_layer_norm(const std::string& name, std::int64_t width, ParameterSpecs& specs);
// The same, and the buffers NAME.running_mean and NAME.running_variance.
void add_batch_norm(const std::string& name, std::int64_t width, ParameterSpecs& specs);
// NAME.in_proj_weight [3 * width, width] (queries, keys, values) and NAME.in_proj_bias; NAME.out_proj.
void add_attention(const std::string& name, std::int64_t width, ParameterSpecs& specs);
// NAME.weight [outputs, inputs, kernel] and NAME.bias.
void add_convolution(const std::string& name, std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
                     ParameterSpecs& specs);

// Refuses an array of more values than one may have.
void refuse_too_large(const std::string& name, const Shape& shape);

}  // namespace stoker
