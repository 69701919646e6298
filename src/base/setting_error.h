#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace stoker {

// A request that was wrong by one setting, where it was found to be. Who shows the settings puts the error
// beside it.
class SettingError : public Error {
 public:
  SettingError(std::string setting, const std::string& message)
      : Error(ExitCode::wrong_request, message), setting_(std::move(setting)) {}
  const std::string& setting() const { return setting_; }

 private:
  std::string setting_;
};

template <class... Parts>
[[noreturn]] void refuse_setting(std::string setting, fmt::format_string<Parts...> format, Parts&&... parts) {
  throw SettingError(std::move(setting), fmt::format(format, std::forward<Parts>(parts)...));
}

// A column that is not there. Which setting asked for it, if any did, is known to whoever has the settings.
class ColumnError : public Error {
 public:
  ColumnError(std::string column, const std::string& message)
      : Error(ExitCode::wrong_request, message), column_(std::move(column)) {}
  const std::string& column() const { return column_; }

 private:
  std::string column_;
};

}  // namespace stoker
