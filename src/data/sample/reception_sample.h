#pragma once

#include <cstdint>

#include "data/table/table.h"

namespace stoker {

// Receptions of transmitters in the UHF band by up to ten stations at fixed places within 80 km. Each row is
// one: `receivers` (10 x 6: where the station stands, x and y in km; signal to noise in dB; power in dBm;
// difference from the nominal frequency in Hz; arrival in µs, against the mean of all arrivals), `present`
// (10, whether the station heard anything), `position` (2, of the transmitter, in km), the mean signal to
// noise `snr_db`, and `gdop`, by which the geometry of the stations enlarges an error of distance.
Table make_receptions(std::int64_t rows, std::uint64_t seed);

}  // namespace stoker
