#pragma once

#include <span>

// Columns that only number the rows: nothing can be learnt from them, and a model would learn them by heart.
namespace stoker {

// All different, and so close together that nothing but counting makes them. A split takes rows out of the
// sequence, so up to half of it may be missing. The numbers are whole.
bool look_counted(std::span<const double> numbers);

// Whether rows with neighbouring numbers have more alike targets than chance would make them, by an analysis
// of variance over stretches of the sequence. Years of a yearly table do, identifiers in no order do not.
bool tell_of_target(std::span<const double> numbers, std::span<const double> targets);

}  // namespace stoker
