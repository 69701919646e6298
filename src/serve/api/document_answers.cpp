#include "serve/api/document_answers.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/project_scope.h"
#include "base/text/text.h"
#include "serve/access/allowed_sources.h"
#include "serve/access/request_secrets.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

// What is none cannot be on record, and not every database takes any bytes as text.
bool may_be_id(const std::string& id) {
  constexpr std::size_t longest = 64;
  return id.size() <= longest &&
         std::ranges::all_of(id, [](unsigned char c) { return std::isxdigit(c) != 0 || c == '-'; });
}

std::size_t characters_in(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](unsigned char c) { return (c & 0xC0U) != 0x80U; }));
}

}  // namespace

ProjectRecord project_named(Service& service, const std::string& id) {
  auto project = may_be_project(id) ? DocumentStore(service.records()).find_project(id) : std::nullopt;
  if (!project) throw NotFound(fmt::format("there is no project '{}'", printable(id)));
  return std::move(*project);
}

DocumentRecord document_named(Service& service, const std::string& id, Removed removed) {
  auto document = may_be_id(id) ? DocumentStore(service.records()).find(id) : std::nullopt;
  if (!document) throw NotFound(fmt::format("there is no document '{}'", printable(id)));
  if (!document->removed.empty() && removed == Removed::does_not)
    throw NotFound(
        fmt::format("the document '{}' was removed; POST /api/documents/{}/bring-back brings it back",
                    document->name, id));
  return std::move(*document);
}

DocumentVersion version_named(Service& service, const DocumentRecord& document, std::int64_t number) {
  auto version = DocumentStore(service.records()).version(document.id, number);
  if (!version)
    throw NotFound(fmt::format("the document has no version {}; the newest is {}", number, document.version));
  return std::move(*version);
}

json document_view(const DocumentRecord& document) {
  json view{{"id", document.id},           {"project", document.project}, {"name", document.name},
            {"version", document.version}, {"created", document.created}, {"changed", document.changed}};
  if (!document.removed.empty()) view["removed"] = document.removed;
  return view;
}

bool is_text(const std::string& text) {
  if (text.find('\0') != std::string::npos) return false;
  try {
    static_cast<void>(json(text).dump());
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

void refuse_unless_name(const std::string& name) {
  constexpr std::size_t most_characters = 200;
  const bool has_control = std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  const bool is_blank = name.find_first_not_of(' ') == std::string::npos;
  if (is_blank || has_control || !is_text(name) || characters_in(name) > most_characters)
    throw HttpError(422, fmt::format("name: takes 1 to {} characters, none of them a control character",
                                     most_characters));
}

void refuse_unless_text(const std::string& content) {
  if (content.size() > most_bytes_of_document)
    throw HttpError(413, fmt::format("content: a document has at most {}, this one has {}",
                                     human_bytes(most_bytes_of_document), human_bytes(content.size())));
  if (!is_text(content)) throw HttpError(422, "content: a document is text in UTF-8, without a zero in it");
  refuse_secrets_in_document(content);
}

CheckedDocument check_text(const Service& service, const std::string& content) {
  CheckedDocument checked = check_document(content, service.folder());
  if (const Document* document = checked.document()) {
    try {
      refuse_sources_not_allowed(*document, service.config());
    } catch (const Error& error) {
      checked.problems.push_back({0, "", error.what()});
    }
  }
  return checked;
}

json problems_view(const std::vector<config::Diagnostic>& problems) {
  constexpr std::size_t most_told = 500;
  json list = json::array();
  for (std::size_t i = 0; i < std::min(problems.size(), most_told); ++i) {
    json problem{{"message", problems[i].message}, {"path", problems[i].path}};
    if (problems[i].line > 0) problem["line"] = problems[i].line;
    list.push_back(std::move(problem));
  }
  return list;
}

}  // namespace stoker::serve
