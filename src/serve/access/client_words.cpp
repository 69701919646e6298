#include "serve/access/client_words.h"

#include <algorithm>
#include <optional>

#include "base/project_scope.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;

bool is_letter_of_option(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

// Where the name of an option that begins at `at` ends; none where no option does.
std::optional<std::size_t> end_of_option(std::string_view text, std::size_t at) {
  constexpr std::string_view before = " (['\n";
  if (!text.substr(at).starts_with("--") || at + 2 >= text.size()) return std::nullopt;
  if (at > 0 && before.find(text[at - 1]) == std::string_view::npos) return std::nullopt;
  if (text[at + 2] < 'a' || text[at + 2] > 'z') return std::nullopt;
  std::size_t end = at + 2;
  while (end < text.size() && is_letter_of_option(text[end])) ++end;
  return end;
}

bool has_option(std::string_view text) {
  for (std::size_t at = text.find("--"); at != std::string_view::npos; at = text.find("--", at + 2))
    if (end_of_option(text, at)) return true;
  return false;
}

// What stands in brackets that name an option, without it; empty where nothing is left.
std::string_view left_in_brackets(std::string_view inside) {
  constexpr std::string_view otherwise = ", or ";
  const std::size_t found = inside.find(otherwise);
  if (found == std::string_view::npos) return {};
  const std::string_view rest = inside.substr(found + otherwise.size());
  return has_option(rest) ? std::string_view() : rest;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  if (what.empty()) return;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

std::string with_names(std::string text, const NamedPaths& names) {
  for (const auto& [path, name] : names) replace_all(text, path, name);
  return text;
}

NamedPaths names_of_data(const fs::path& data) {
  NamedPaths names;
  std::error_code none;
  const fs::path own = folder_of_project(data, ProjectScope::or_default());  // longer than that of all
  for (const fs::path& folder :
       {own, fs::weakly_canonical(own, none), data, fs::weakly_canonical(data, none)}) {
    if (folder.relative_path().empty()) continue;
    names.emplace_back(folder.string() + "/", "");
    names.emplace_back(folder.string(), "the data folder");
  }
  return names;
}

std::string without_folder(std::string text, const fs::path& data) {
  return with_names(std::move(text), names_of_data(data));
}

std::string without_options(std::string_view text) {
  std::string told;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '(') {
      const std::size_t close = text.find_first_of("()", at + 1);
      const bool is_whole = close != std::string_view::npos && text[close] == ')';
      const std::string_view inside = is_whole ? text.substr(at + 1, close - at - 1) : std::string_view();
      if (has_option(inside)) {
        if (const std::string_view left = left_in_brackets(inside); !left.empty()) {
          told.append("(").append(left).append(")");
        } else if (told.ends_with(' ')) {
          told.pop_back();
        }
        at = close + 1;
        continue;
      }
    }
    if (const auto end = end_of_option(text, at)) {
      std::string name(text.substr(at + 2, *end - at - 2));
      std::ranges::replace(name, '-', '_');
      told += name;
      at = *end;
      continue;
    }
    told += text[at++];
  }
  return told;
}

}  // namespace stoker::serve
