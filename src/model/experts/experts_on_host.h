#pragma once

#include "model/experts/expert_likeness.h"
#include "model/experts/expert_state.h"
#include "model/experts/expert_surgery.h"

namespace stoker {

// Experts in arrays of the host.
class ExpertsOnHost : public ExpertState {
 public:
  // Both must live as long.
  ExpertsOnHost(const ExpertShape& shape, NamedArrays& state) : arrays_(shape, state) {}

  std::span<const float> values(const char* buffer) override { return arrays_.values(buffer); }
  ExpertRoutes route(const Dataset& rows) override;
  std::vector<double> cosines_of_rows(const ExpertRoutes& routes, const Dataset& rows,
                                      std::span<const ExpertPair> pairs) override;
  std::vector<double> adaptation_of(std::span<const std::int64_t> places) override;
  std::vector<double> align(std::span<const ExpertPair> pairs) override;

  void bear(std::int64_t parent, std::int64_t place, RandomKey noise) override {
    arrays_.bear(parent, place, noise);
  }
  void merge(std::size_t pair, double share_of_one) override {
    arrays_.merge(pairs_[pair].one, pairs_[pair].other, share_of_one, aligned_[pair].units);
  }
  void remove(std::int64_t place, std::int64_t neighbour, double share) override {
    arrays_.remove(place, neighbour, share);
  }
  void clear_usage() override { arrays_.clear_usage(); }
  void clear_hesitation() override { arrays_.clear_hesitation(); }

 private:
  ExpertArrays arrays_;
  std::vector<ExpertPair> pairs_;
  std::vector<AlignedExperts> aligned_;
};

}  // namespace stoker
