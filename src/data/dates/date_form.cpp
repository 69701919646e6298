#include "data/dates/date_form.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker {
namespace {

constexpr std::array<std::string_view, 12> month_names{"january",   "february", "march",    "april",
                                                       "may",       "june",     "july",     "august",
                                                       "september", "october",  "november", "december"};
constexpr std::array<std::string_view, 7> day_names{"sunday",   "monday", "tuesday", "wednesday",
                                                    "thursday", "friday", "saturday"};
constexpr std::string_view known_letters = "YymdeHIMSfpzbBhaAFTRq";

// What several letters stand for.
std::string spelled_out(std::string_view form) {
  std::string out;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '%' || i + 1 == form.size()) {
      out += form[i];
      continue;
    }
    const char letter = form[++i];
    out += letter == 'F'   ? "%Y-%m-%d"
           : letter == 'T' ? "%H:%M:%S"
           : letter == 'R' ? "%H:%M"
                           : std::string{'%', letter};
  }
  return out;
}

// Walks a text along a form and keeps what it reads.
class DateParser {
 public:
  explicit DateParser(std::string_view text) : text_(text) {}

  bool follow(std::string_view form) {
    skip_blanks();
    for (std::size_t i = 0; i < form.size(); ++i) {
      if (form[i] == ' ') {
        skip_blanks();
      } else if (form[i] == '%' && i + 1 < form.size()) {
        if (!take(form[++i])) return false;
      } else if (!take_literal(form[i])) {
        return false;
      }
    }
    skip_blanks();
    return text_.empty();
  }

  std::optional<DateTime> moment() const {
    using namespace std::chrono;
    const year_month_day day(std::chrono::year(year_), std::chrono::month(static_cast<unsigned>(month_)),
                             std::chrono::day(static_cast<unsigned>(day_)));
    if (!day.ok() || year_ < 1) return std::nullopt;
    int hour = hour_;
    if (half_ >= 0) {
      if (hour < 1 || hour > 12) return std::nullopt;
      hour = hour % 12 + 12 * half_;
    }
    const std::int64_t days = sys_days(day).time_since_epoch().count();
    return DateTime{days * 86'400 + hour * 3'600 + minute_ * 60 + second_ - zone_, nanoseconds_};
  }

 private:
  void skip_blanks() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\t')) text_.remove_prefix(1);
  }
  bool take_literal(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take_number(int& into, std::size_t fewest, std::size_t most, int highest) {
    std::size_t digits = 0;
    int number = 0;
    while (digits < most && digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9')
      number = number * 10 + (text_[digits++] - '0');
    if (digits < fewest || number > highest) return false;
    text_.remove_prefix(digits);
    into = number;
    return true;
  }
  bool take_fraction() {
    std::size_t digits = 0;
    std::int32_t unit = 100'000'000;
    nanoseconds_ = 0;
    for (; digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9'; ++digits, unit /= 10)
      nanoseconds_ += (text_[digits] - '0') * unit;
    text_.remove_prefix(digits);
    return digits > 0;
  }
  bool take_seconds() {
    if (!take_number(second_, 2, 2, 60)) return false;
    if (!text_.starts_with('.') && !text_.starts_with(',')) return true;
    text_.remove_prefix(1);
    return take_fraction();
  }
  // A name in full or its first three letters.
  template <class Names>
  bool take_name(const Names& names, int& into) {
    const auto letters = static_cast<std::size_t>(
        std::find_if_not(text_.begin(), text_.end(), [](unsigned char c) { return std::isalpha(c) != 0; }) -
        text_.begin());
    std::string word = lower_case(text_.substr(0, letters));
    if (word == "sept") word = "sep";
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (word != names[i] && word != names[i].substr(0, 3)) continue;
      into = static_cast<int>(i) + 1;
      text_.remove_prefix(letters);
      return true;
    }
    return false;
  }
  bool take_half() {
    if (text_.size() < 2 || (text_[1] | 0x20) != 'm') return false;
    const int first = text_[0] | 0x20;
    if (first != 'a' && first != 'p') return false;
    half_ = first == 'p' ? 1 : 0;
    text_.remove_prefix(2);
    return true;
  }
  bool take_zone() {
    for (const std::string_view utc : {"Z", "z", "UTC", "GMT"}) {
      if (!text_.starts_with(utc)) continue;
      text_.remove_prefix(utc.size());
      return true;
    }
    if (!text_.starts_with('+') && !text_.starts_with('-')) return false;
    const int sign = text_.front() == '-' ? -1 : 1;
    text_.remove_prefix(1);
    int hours = 0;
    int minutes = 0;
    if (!take_number(hours, 2, 2, 18)) return false;
    const bool has_colon = take_literal(':');
    if ((has_colon || !text_.empty()) && !take_number(minutes, 2, 2, 59)) return false;
    zone_ = sign * (hours * 3'600 + minutes * 60);
    return true;
  }
  bool take(char letter) {
    int ignored = 0;
    switch (letter) {
      case 'Y':
        return take_number(year_, 4, 4, 9'999);
      case 'y':
        if (!take_number(year_, 2, 2, 99)) return false;
        year_ += year_ < 69 ? 2'000 : 1'900;  // as POSIX has it
        return true;
      case 'm':
        return take_number(month_, 1, 2, 12);
      case 'q':
        if (!take_number(month_, 1, 1, 4) || month_ == 0) return false;
        month_ = 3 * month_ - 2;
        return true;
      case 'd':
      case 'e':
        return take_number(day_, 1, 2, 31) && day_ > 0;
      case 'H':
        return take_number(hour_, 1, 2, 23);
      case 'I':
        return take_number(hour_, 1, 2, 12);
      case 'M':
        return take_number(minute_, 2, 2, 59);
      case 'S':
        return take_seconds();
      case 'f':
        return take_fraction();
      case 'p':
        return take_half();
      case 'z':
        return take_zone();
      case 'b':
      case 'B':
      case 'h':
        return take_name(month_names, month_);
      case 'a':
      case 'A':
        return take_name(day_names, ignored);
      default:
        return take_literal(letter);  // %%
    }
  }

  std::string_view text_;
  int year_ = 0;
  int month_ = 0;
  int day_ = 1;
  int hour_ = 0;
  int minute_ = 0;
  int second_ = 0;
  int half_ = -1;  // 0 before noon, 1 after
  int zone_ = 0;   // seconds east of Greenwich
  std::int32_t nanoseconds_ = 0;
};

std::vector<DateForm> make_usual_forms() {
  std::vector<DateForm> forms;
  for (const std::string day :
       {"%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d",
        "%b %d, %Y", "%b %d %Y", "%d %b %Y", "%d-%b-%Y", "%b-%d-%Y", "%a, %d %b %Y", "%A, %b %d, %Y"}) {
    forms.emplace_back(day);
    for (const std::string between : {" ", "T", ", "}) {
      for (const std::string time : {"%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p"}) {
        forms.emplace_back(day + between + time);
        forms.emplace_back(day + between + time + " %z");
      }
    }
  }
  for (const char* period : {"%Y-%m", "%Y/%m", "%m/%Y", "%m-%Y", "%Y %b", "%b %Y", "%Y-%b", "%b-%Y", "%YM%m",
                             "%Y Q%q", "%Y-Q%q", "Q%q %Y", "Q%q-%Y"})  // 1970Q1 too: a blank may be none
    forms.emplace_back(period);
  return forms;
}

}  // namespace

DateForm::DateForm(std::string form) : form_(std::move(form)) {
  constexpr std::size_t longest_form = 100;
  if (form_.size() > longest_form)
    refuse("a form of dates has {} characters, more than any needs", form_.size());
  bool has_year = false;
  bool has_month = false;
  for (std::size_t i = 0; i < form_.size(); ++i) {
    if (form_[i] != '%') continue;
    const char letter = ++i < form_.size() ? form_[i] : ' ';
    if (letter != '%' && known_letters.find(letter) == std::string_view::npos) {
      refuse(
          "'{}' is not a form of dates: '%{}' is unknown; known: %Y %y %m %b %B %d %e %F %H %I %M %S %f %p "
          "%T "
          "%R %z %a %A %q and %%",
          form_, letter);
    }
    has_year = has_year || letter == 'Y' || letter == 'y' || letter == 'F';
    has_month = has_month || std::string_view("mbBhFq").find(letter) != std::string_view::npos;
    tells_day_ = tells_day_ || letter == 'd' || letter == 'e' || letter == 'F';
  }
  if (!has_year || !has_month)
    refuse(
        "'{}' is not a form of dates: it needs a year and a month, such as %d/%m/%Y, %Y-%m or %Y Q%q (a "
        "quarter)",
        form_);
  spelled_ = spelled_out(form_);
}

std::optional<DateTime> DateForm::parse(std::string_view text) const {
  DateParser parser(text);
  return parser.follow(spelled_) ? parser.moment() : std::nullopt;
}

const std::vector<DateForm>& usual_date_forms() {
  static const std::vector<DateForm> forms = make_usual_forms();
  return forms;
}

bool looks_like_date(std::string_view text) {
  return std::ranges::any_of(usual_date_forms(),
                             [&](const DateForm& form) { return form.parse(text).has_value(); });
}

}  // namespace stoker
