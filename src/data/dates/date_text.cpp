#include "data/dates/date_text.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string_view>

#include <fmt/chrono.h>

namespace stoker {
namespace {

// The text for one letter of a date form, such as Y for the year.
std::string part_text(char letter, const std::tm& moment) {
  switch (letter) {
    case 'F':
      return fmt::format("{:%Y-%m-%d}", moment);
    case 'T':
      return fmt::format("{:%H:%M:%S}", moment);
    case 'R':
      return fmt::format("{:%H:%M}", moment);
    case 'e':
      return fmt::format("{}", moment.tm_mday);
    case 'f':
      return "000000";
    case 'z':
      return "Z";
    case 'q':
      return fmt::format("{}", 1 + moment.tm_mon / 3);
    default:
      return fmt::format(fmt::runtime(std::string("{:%") + letter + "}"), moment);
  }
}

}  // namespace

std::string date_text(double seconds, const std::string& form) {
  constexpr double year_1 = -62'135'596'800;
  constexpr double end_of_year_9999 = 253'402'300'799;
  const double shown = std::round(std::clamp(seconds, year_1, end_of_year_9999));
  const std::tm moment = fmt::gmtime(static_cast<std::time_t>(shown));
  const bool is_midnight = moment.tm_hour == 0 && moment.tm_min == 0 && moment.tm_sec == 0;
  const std::string_view wanted = !form.empty() ? std::string_view(form) : is_midnight ? "%F" : "%F %T";
  std::string text;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == '%' && i + 1 < wanted.size()) {
      text += part_text(wanted[++i], moment);
    } else {
      text += wanted[i];
    }
  }
  return text;
}

}  // namespace stoker
