#include "database/postgres/postgres_options.h"

#include <cctype>
#include <string_view>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker::database {
namespace {

// A password with / or @ in it ends where nobody meant it to, and its rest is taken for a host or a port,
// which libpq would show.
bool is_cut_by_password(const ConnectionOption* options) {
  for (const ConnectionOption* option = options; option->keyword != nullptr; ++option) {
    if (option->value == nullptr) continue;
    const std::string_view keyword = option->keyword;
    const std::string_view value = option->value;
    if (keyword == "host" && value.find('@') != std::string_view::npos) return true;
    if (keyword == "port" && value.find_first_not_of("0123456789,") != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

PostgresOptions postgres_options(const std::string& address, const std::string& called) {
  const PostgresLibrary& library = postgres_library();
  char* error = nullptr;
  PostgresOptions options(library.parse(address.c_str(), &error), library.free_options);
  const bool is_address = options != nullptr && !is_cut_by_password(options.get());
  if (!is_address) {
    if (options == nullptr) library.free_memory(error);
    refuse(
        "{} is not an address of PostgreSQL; write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with %XX for "
        "characters such as / @ : in the password",
        called);
  }
  return options;
}

namespace {

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Whole words alone: the name of a user may be "a".
void replace_words(std::string& message, const std::string& word, std::string_view by) {
  for (std::size_t at = message.find(word); at != std::string::npos; at = message.find(word, at)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_letter_or_digit(message[at - 1]);
    const bool ends = end == message.size() || !is_letter_or_digit(message[end]);
    if (begins && ends) {
      message.replace(at, word.size(), by);
      at += by.size();
    } else {
      at = end;
    }
  }
}

// What a host was resolved to: "server at "***" (10.0.0.5), port 5432".
void remove_numbers_of_hosts(std::string& message, std::string_view hidden) {
  const std::string before = fmt::format("\"{}\" (", hidden);
  for (std::size_t at = message.find(before); at != std::string::npos; at = message.find(before, at)) {
    const std::size_t begin = at + before.size() - 2;
    const std::size_t end = message.find(')', begin);
    if (end == std::string::npos) return;
    message.erase(begin, end + 1 - begin);
  }
}

}  // namespace

std::string without_parts_of_address(std::string message, const std::string& address,
                                     const std::string& shown) {
  constexpr std::string_view hidden = "***";
  const PostgresOptions options = postgres_options(address, "uri");
  for (const ConnectionOption* each = options.get(); each->keyword != nullptr; ++each) {
    const std::string_view keyword = each->keyword;
    const bool is_shown_by_libpq = keyword == "host" || keyword == "hostaddr" || keyword == "user" ||
                                   keyword == "dbname" || keyword == "port";
    if (!is_shown_by_libpq || each->value == nullptr || *each->value == '\0') continue;
    for (const std::string& part : split_text(each->value, ','))
      if (!part.empty() && shown.find(part) == std::string::npos) replace_words(message, part, hidden);
  }
  remove_numbers_of_hosts(message, hidden);
  return message;
}

}  // namespace stoker::database
