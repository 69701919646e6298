#pragma once

#include <string>
#include <vector>

#include "data/prepare/preparation_config.h"
#include "train/fit/fit_request.h"
#include "train/fit/spec.h"

// Members of an ensemble that differ in more than their seeds: they err in different places, and their mean
// less than that of members of one kind.
namespace stoker {

struct Variant {
  ModelSpec spec;
  PreparationConfig preparation;
};

// What is wrong with the map of variants, whatever the model, or "".
std::string problem_of_variants(const config::Value& variants);

// What each kind of member makes of a model and its preparation, in the order in which they are written; both
// as they are where there are no variants. Settings that do not exist, or that all members must have in
// common, are wrong. The map is one that problem_of_variants() has nothing against.
std::vector<Variant> variants_of(const Variant& common, const EnsembleConfig& ensemble,
                                 const std::string& path, config::Diagnostics& diagnostics);
// The same of a request; refuses what is wrong.
std::vector<Variant> variants_of(const FitRequest& request);

// Members of one fold are of different variants in different repeats.
std::size_t variant_of_member(const EnsembleConfig& config, std::size_t member, std::size_t variants);

}  // namespace stoker
