#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

// Small trainings for the tests of the engines.
namespace stoker::test {

// Rows of features in -1 .. 1 with a target that a small network can learn part of; counter-based, so always
// the same. Regression, or class numbers 0, 1, 2.
Dataset synthetic_rows(std::int64_t rows, std::int64_t columns, bool classes, std::uint64_t seed);

// 203 training and 50 validation rows of 6 columns, batches of 16 (the last has 11 rows), two hidden layers.
EngineRequest small_request();

// The same request with its data where that device reads it.
EngineRequest placed_on(EngineRequest request, Device device, Memory memory);

// The first GPU, if this build and machine have one.
std::optional<Device> first_gpu();

std::unique_ptr<Engine> make_engine(std::string_view name, const EngineRequest& request);

// Runs `epochs` epochs at a constant learning rate, in chunks of `chunk_steps` steps.
ChunkResult run_epochs(Engine& engine, const EngineRequest& request, std::int64_t epochs,
                       std::int64_t chunk_steps, std::int64_t first_step = 0, float rate = 0.01F);

// Names, shapes and every bit.
bool same_bits(const NamedArrays& one, const NamedArrays& other);

// The largest difference between arrays of the same names, relative to the largest value of each.
double largest_difference(const NamedArrays& one, const NamedArrays& other);

}  // namespace stoker::test
