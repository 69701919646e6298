#pragma once

// cudaStream_t as CUDA itself declares it, so that headers need none of CUDA's.
struct CUstream_st;

namespace stoker::kernels {

using Stream = CUstream_st*;

// What a launch answers: null, or why it failed. The .cu files know nothing of the program's errors.
using LaunchError = const char*;

// Where a kernel runs; see place.h.
struct Place;

}  // namespace stoker::kernels
