#pragma once

namespace stoker {

// The probability that Student's t with so many degrees of freedom is above `value`.
double student_above(double value, double degrees);

}  // namespace stoker
