#pragma once

#include <memory>
#include <string>

#include "fused/cuda/gpu.h"
#include "fused/cuda/sequence/passes.h"
#include "model/network.h"

// The families that have kernels of their own; sequence_kernels.cpp lists them.
namespace stoker::fused::sequence {

std::string transformer_refusal(const Network& network, const Gpu& gpu);
std::string transformer_source(const Network& network);
std::unique_ptr<SequenceKernels> make_transformer(const Network& network, const Places& places);

std::string lstm_refusal(const Network& network, const Gpu& gpu);
std::string lstm_source(const Network& network);
std::unique_ptr<SequenceKernels> make_lstm(const Network& network, const Places& places);

}  // namespace stoker::fused::sequence
