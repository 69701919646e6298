#pragma once

#include <string>
#include <vector>

#include "data/preparation_config.h"
#include "train/fit_request.h"
#include "train/spec.h"

// Members of an ensemble that differ in more than their seeds: they err in different places, and their mean
// less than that of members of one kind.
namespace stoker {

struct Variant {
  ModelSpec spec;
  PreparationConfig preparation;
};

// What is wrong with the map of variants, whatever the model, or "".
std::string problem_of_variants(const config::Value& variants);

// What each variant makes of the request, in the order in which they are written; the request as it is where
// there are none. Refuses settings that do not exist or that all members must have in common.
std::vector<Variant> variants_of(const FitRequest& request);

// Members of one fold are of different variants in different repeats.
std::size_t variant_of_member(const EnsembleConfig& config, std::size_t member, std::size_t variants);

}  // namespace stoker
