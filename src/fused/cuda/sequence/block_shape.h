#pragma once

// How blocks of sequence networks are made. This file is read by the host and by the kernels.
namespace stoker::fused::sequence {

constexpr int workers = 512;  // threads that compute; a warp behind them asks for weights
constexpr int worker_warps = workers / 32;
constexpr int threads_with_asker = workers + 32;
constexpr int ring_stages = 3;
constexpr int stage_bytes = 32768;
constexpr int barrier_bytes = 2 * ring_stages * 8;
constexpr int mask_bytes = 16;

}  // namespace stoker::fused::sequence
