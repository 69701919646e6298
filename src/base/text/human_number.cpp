#include "base/text/human_number.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/nan_sign.h"

namespace stoker {

std::string human_number(double number) {
  number = without_nan_sign(number);
  constexpr double largest_written_out = 1e15;
  const double size = std::abs(number);
  if (!(size >= 999.9995 && size < largest_written_out)) return fmt::format("{:.6g}", number);
  const int decimals = size < 9'999.995 ? 2 : size < 99'999.95 ? 1 : 0;
  std::string text = fmt::format("{:.{}f}", size, decimals);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  for (std::size_t place = std::min(text.find('.'), text.size()); place > 3; place -= 3)
    text.insert(place - 3, ",");
  return number < 0 ? "-" + text : text;
}

}  // namespace stoker
