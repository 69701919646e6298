#include "train/fit/verdict.h"

#include <algorithm>

#include <fmt/format.h>

namespace stoker {
namespace {

constexpr double good_share = 0.8;
constexpr double fair_share = 0.6;

}  // namespace

TimeShares time_shares(double computing, double waiting_for_data) {
  const double data = std::clamp(waiting_for_data, 0.0, computing);
  // What the engine waited for is part of the time that it ran.
  return {computing - data, data, std::max(0.0, 1 - computing)};
}

bool waited_for_data(const TimeShares& shares) {
  return shares.computing < good_share && shares.waiting_for_data > 0 &&
         shares.waiting_for_data >= shares.waiting_for_host;
}

std::string verdict_on(const TimeShares& shares, bool is_on_gpu) {
  const char* word = shares.computing >= good_share ? "good" : shares.computing >= fair_share ? "OK" : "bad";
  std::string text = fmt::format("{}: {:.0f} % of the time between first and last step was computing", word,
                                 100 * shares.computing);
  if (shares.computing >= good_share) return text;
  if (waited_for_data(shares) && !is_on_gpu)
    return text + fmt::format(
                      "; {:.0f} % was waiting for rows that came from a file: give it more memory, a faster "
                      "disk or fewer columns",
                      100 * shares.waiting_for_data);
  if (waited_for_data(shares))
    return text +
           fmt::format(
               "; {:.0f} % was waiting for data on its way to the device: place it in VRAM, or make its rows "
               "smaller",
               100 * shares.waiting_for_data);
  return text + fmt::format(
                    "; {:.0f} % was waiting for the host, which records epochs and takes checkpoints: raise "
                    "checkpoint_seconds, or train in larger batches",
                    100 * shares.waiting_for_host);
}

}  // namespace stoker
