#pragma once

namespace stoker {

// The probability that Student's t with so many degrees of freedom is above `value`.
double student_above(double value, double degrees);

// The probability of so many successes at most among so many trials, each with this chance. Between two
// numbers of successes it rises continuously.
double binomial_at_most(double successes, double trials, double chance);

}  // namespace stoker
