#pragma once

#include "kernels/launch.h"
#include "kernels/weights_work.h"

// What a step does to every weight alike, in one pass over the flat buffers.
namespace stoker::kernels {

void lion(const Lion& work);
LaunchError lion_cuda(const Lion& work, Stream stream);
void lion(const Lion& work, const Place& place);

void add_squares(const Squares& work);
LaunchError add_squares_cuda(const Squares& work, Stream stream);
void add_squares(const Squares& work, const Place& place);

void adam(const Adam& work);
LaunchError adam_cuda(const Adam& work, Stream stream);
void adam(const Adam& work, const Place& place);

void average_weights(const WeightAverage& work);
LaunchError average_weights_cuda(const WeightAverage& work, Stream stream);
void average_weights(const WeightAverage& work, const Place& place);

}  // namespace stoker::kernels
