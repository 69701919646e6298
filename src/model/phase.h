#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "kernels/statistics.h"
#include "model/network.h"

// What a family's training is made of, one after the other.
namespace stoker {

// One pass over the training rows without gradients; what follows from it is kept in buffers.
struct StatisticsPhase {
  std::string input;  // its last dimension holds the columns (one where rows are single numbers); of windows
                      // the series counts, each moment once
  std::string mask;   // an input with one number for each of its rows of columns: 0 does not count; "": none
  bool with_products = false;
  NamedArrays (*buffers)(const Network& network, const kernels::Statistics& found) = nullptr;
};

struct GradientPhase {
  std::int64_t epochs = 0;            // 0: those that are left
  std::vector<std::string> unfrozen;  // the parameters that are trained; none named: all
};

// Changes parameters, moments and buffers on the host. Names and shapes stay, so that a step which a device
// has recorded stays valid: what grows, grows into room that was there.
struct StructurePhase {
  void (*edit)(const Network& network, NamedArrays& state) = nullptr;
};

using Phase = std::variant<StatisticsPhase, GradientPhase, StructurePhase>;

}  // namespace stoker
