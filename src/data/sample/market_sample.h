#pragma once

#include <cstdint>

#include "data/table/table.h"

namespace stoker {

// The sample smc_windows: bars of 15 minutes of up to eight invented symbols, one behind the other, with 29
// columns that traders look at, the time and the symbol.
//
// `label` says what becomes of the set-up of each bar in the eight bars after it, by a rule with noise. The
// rule looks at the 20 bars that end with that bar, of which the flags break_up, break_down, sweep_low and
// sweep_high are columns: if the newest break was upwards and a low was swept before it, `up`; if it was
// downwards and a high was swept before it, `down`; else `flat`. So the order of what happened counts, and
// the last bar alone says little.
//
// With a probability of 0.8 the label is what the rule says, else one of the other two, as likely as each
// other, and by numbers that nothing else depends on. Whatever else is known of the bars, the class of the
// rule is therefore the likeliest, and no model can be right more often than 0.8.
inline constexpr std::int64_t market_window = 20;
inline constexpr double market_best_accuracy = 0.8;

Table make_market(std::int64_t rows, std::uint64_t seed);

}  // namespace stoker
