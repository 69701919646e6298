#include "data/dates/date_parts.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace stoker {
namespace {

constexpr double seconds_of_day = 86'400;

struct YearDay {
  double year = 0;
  double share = 0;  // of the year that lies behind, from 0 to below 1
};

bool is_leap(std::int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

std::int64_t first_day_of(std::int64_t year) {
  // Leap days are counted up to the year before, from a start that is a multiple of 400 years away.
  const auto days_since_year_0 = [](std::int64_t y) { return 365 * y + y / 4 - y / 100 + y / 400; };
  constexpr std::int64_t shift = 400'000;  // keeps the divisions of years before 0 exact
  return days_since_year_0(year + shift - 1) - days_since_year_0(1970 + shift - 1);
}

YearDay year_day(double days) {
  const double whole = std::floor(days);
  auto year = static_cast<std::int64_t>(1970 + std::floor(whole / 365.2425));
  while (static_cast<double>(first_day_of(year)) > whole) --year;
  while (static_cast<double>(first_day_of(year + 1)) <= whole) ++year;
  const double behind = days - static_cast<double>(first_day_of(year));
  return {static_cast<double>(year), behind / (is_leap(year) ? 366 : 365)};
}

// Beyond these years nothing is a date any more, and arithmetic on days would overflow.
constexpr double most_days = 365.0 * 300'000;

double circle(double share, bool is_sine) {
  const double angle = 2 * std::numbers::pi * share;
  return is_sine ? std::sin(angle) : std::cos(angle);
}

}  // namespace

double part_of_date(DatePart part, double seconds) {
  if (part == DatePart::none || std::isnan(seconds)) return seconds;
  const double days = std::clamp(seconds / seconds_of_day, -most_days, most_days);
  switch (part) {
    case DatePart::year:
      return year_day(days).year;
    case DatePart::year_sine:
    case DatePart::year_cosine:
      return circle(year_day(days).share, part == DatePart::year_sine);
    case DatePart::week_sine:
    case DatePart::week_cosine:
      // 1970 began on a Thursday.
      return circle((std::floor(days) + 3) / 7 - std::floor((std::floor(days) + 3) / 7),
                    part == DatePart::week_sine);
    case DatePart::day_sine:
    case DatePart::day_cosine:
      return circle(days - std::floor(days), part == DatePart::day_sine);
    default:
      return days;
  }
}

std::vector<DatePart> parts_that_differ(std::span<const double> seconds) {
  const auto differ = [&](DatePart part) {
    double first = std::nan("");
    return std::any_of(seconds.begin(), seconds.end(), [&](double each) {
      const double value = part_of_date(part, each);
      if (std::isnan(value)) return false;
      if (std::isnan(first)) first = value;
      return value != first;
    });
  };
  std::vector<DatePart> parts{DatePart::days};
  if (differ(DatePart::year)) parts.push_back(DatePart::year);
  for (const auto& [sine, cosine] : {std::pair{DatePart::year_sine, DatePart::year_cosine},
                                     std::pair{DatePart::week_sine, DatePart::week_cosine},
                                     std::pair{DatePart::day_sine, DatePart::day_cosine}}) {
    if (!differ(sine) && !differ(cosine)) continue;
    parts.push_back(sine);
    parts.push_back(cosine);
  }
  return parts;
}

}  // namespace stoker
