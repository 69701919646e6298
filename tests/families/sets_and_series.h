#pragma once

#include "engine/engine.h"

// A family that nothing but these tests has: it reads sets of up to five members, of which a mask says who is
// there, and windows of a series. It has two losses, a layer that is never trained, and phases of every kind:
// statistics of both inputs, a phase that trains biases alone, one that prunes, one that trains the rest.
namespace stoker::test {

constexpr std::int64_t set_size = 5;
constexpr std::int64_t member_width = 3;
constexpr std::int64_t embedded_width = 6;
constexpr std::int64_t window_length = 8;
constexpr std::int64_t series_width = 2;
constexpr std::int64_t first_phase_epochs = 2;

// Adds the family and its module to their tables, once.
void add_sets_and_series();

Network sets_and_series();
// Counter-based, so always the same: what both losses are of can be learnt from the inputs.
Dataset sets_and_windows(std::int64_t rows, std::uint64_t seed);
EngineRequest sets_and_series_request();

}  // namespace stoker::test
