#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Dates as text, in forms that are written with the letters of strptime: "%d/%m/%Y %H:%M".
namespace stoker {

// Since 1970 in UTC.
struct DateTime {
  std::int64_t seconds = 0;
  std::int32_t nanoseconds = 0;
};

class DateForm {
 public:
  // Refuses letters that are not known and forms that do not tell a month. One without a day stands for the
  // first of its month or quarter.
  explicit DateForm(std::string form);
  const std::string& text() const { return form_; }
  bool tells_day() const { return tells_day_; }
  // None when the text has another form or is no day of the calendar. Blanks in the form stand for any number
  // of them, and seconds may have a fraction. What has no zone is taken as UTC.
  std::optional<DateTime> parse(std::string_view text) const;

 private:
  std::string form_;
  std::string spelled_;  // the same without letters that stand for several
  bool tells_day_ = false;
};

// The forms in which dates are found without being told: ISO 8601 and those of everyday, with a time or
// without. Month before day and day before month are different forms.
const std::vector<DateForm>& usual_date_forms();
bool looks_like_date(std::string_view text);  // in one of them

}  // namespace stoker
