#include "train/choose/chosen_number.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/text.h"

namespace stoker {

std::string title_of(const ChosenNumber& chosen) {
  std::string title = chosen.name;
  std::replace(title.begin(), title.end(), '_', ' ');
  if (!title.empty() && title[0] >= 'a' && title[0] <= 'z')
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return title;
}

std::string text_of(const ChosenNumber& chosen) {
  if (chosen.metric.empty()) return fmt::format("{:.4g}", chosen.value);
  return fmt::format("{:.4g} ({} {:.4g} instead of {:.4g} on {} held back)", chosen.value, chosen.metric,
                     chosen.after, chosen.before,
                     counted(static_cast<std::uint64_t>(std::max<std::int64_t>(0, chosen.rows)), "row"));
}

}  // namespace stoker
