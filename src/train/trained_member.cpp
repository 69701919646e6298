#include "train/trained_member.h"

#include <algorithm>

namespace stoker {

void tell_of_steps(const std::vector<TrainedMember>& members, FitResult& result) {
  result.precision = members.front().precision;
  result.batch_size = members.front().batch_size;
  result.learning_rate = members.front().learning_rate;
  for (const TrainedMember& each : members) {
    if (each.memory.peak > result.memory.peak) result.memory = each.memory;
    for (const std::string& said : each.adjustments)
      if (std::ranges::find(result.adjustments, said) == result.adjustments.end())
        result.adjustments.push_back(said);
  }
}

}  // namespace stoker
