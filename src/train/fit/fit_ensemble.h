#pragma once

#include <cstdint>

#include "base/notes.h"
#include "base/process/stop.h"
#include "train/fit/fit_request.h"

namespace stoker {

// Of the member of that number, from 0: a function of the card's seed, apart from the seeds of all others.
std::uint64_t seed_of_member(std::uint64_t seed, std::size_t member);

// fit() of an ensemble: a member per fold and repeat, each with a preparation of its own, watched on the rows
// of its fold. On the CPU one to a core, on a GPU side by side where its engine can; the result depends on
// neither. Out of time, the members that are finished make up the model or, where there is none, those that
// are under way.
FitResult fit_ensemble(const FitRequest& request, TrainingListener& listener, const Notes& notes,
                       const StopSignal& stop);

}  // namespace stoker
