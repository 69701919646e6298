#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "data/placement/dataset.h"
#include "model/experts/expert_routes.h"
#include "model/restructuring.h"

namespace stoker {

// Places of two experts.
struct ExpertPair {
  std::int64_t one = 0;
  std::int64_t other = 0;
};

// What an edit of the lives of experts asks of their state, wherever that lies, and does to it. Of the
// changes, expert_surgery.h says what each is.
class ExpertState : public StructureHandle {
 public:
  // A buffer of expert_shape.h, as it is now.
  virtual std::span<const float> values(const char* buffer) = 0;
  virtual ExpertRoutes route(const Dataset& rows) = 0;
  // Cosines of the centres of the rows of two, for each pair; 0 where one has none. `routes` are those that
  // route() has found last.
  virtual std::vector<double> cosines_of_rows(const ExpertRoutes& routes, const Dataset& rows,
                                              std::span<const ExpertPair> pairs) = 0;
  virtual std::vector<double> adaptation_of(std::span<const std::int64_t> places) = 0;
  // Cosines of the weights of two, for each pair, with the hidden units of the other in the order that fits
  // best.
  virtual std::vector<double> align(std::span<const ExpertPair> pairs) = 0;

  virtual void bear(std::int64_t parent, std::int64_t place, RandomKey noise) = 0;
  // The other one of that pair, of those that were aligned last, goes into the one. None of the two has
  // changed since.
  virtual void merge(std::size_t pair, double share_of_one) = 0;
  virtual void remove(std::int64_t place, std::int64_t neighbour, double share) = 0;
  virtual void clear_usage() = 0;
  virtual void clear_hesitation() = 0;
};

}  // namespace stoker
