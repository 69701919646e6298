#pragma once

#include <vector>

#include "engine/engine.h"

// How kernels keep the moments of an optimiser. fp16 ends at 65,504: the fast kernels scale the loss, and the
// moments with it; a model that leaves fp16's range has its scale lowered. The plain kernel has no scale.
namespace stoker::fused {

constexpr int most_lowered = 2;

// Keeps fp16's gradients in its range: what is smaller than 6e-8 / 1024 counts as 0.
double loss_scale(int lowered);

// The fast kernels carry Adam's epsilon within the second moment: v / (1 - beta2) + epsilon^2 / (1 - beta2),
// both times the loss scale squared.
double initial_second_moment(const OptimizerSettings& settings, double scale);

struct Moments {
  std::vector<float> first;
  std::vector<float> second;
};

// From one loss scale of the fast kernels to another; sgd has one form alone, here and below.
void rescale(Moments& moments, const OptimizerSettings& settings, int from, int to);
// From that of the fast kernels to that of the plain one.
void make_plain(Moments& moments, const OptimizerSettings& settings, int lowered);

}  // namespace stoker::fused
