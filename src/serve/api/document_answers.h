#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "pipeline/document/check_document.h"
#include "serve/service.h"
#include "store/document_store.h"

namespace stoker::serve {

// What requests about projects and documents have in common.

// Throw NotFound. A document that was removed is found where that is asked for.
ProjectRecord project_named(Service& service, const std::string& id);
enum class Removed { counts, does_not };
DocumentRecord document_named(Service& service, const std::string& id, Removed removed = Removed::does_not);

DocumentVersion version_named(Service& service, const DocumentRecord& document, std::int64_t number);

nlohmann::json document_view(const DocumentRecord& document);

bool is_text(const std::string& text);  // in UTF-8, without a zero in it
// 1 to 200 characters of UTF-8, none of them a control character; refuses others.
void refuse_unless_name(const std::string& name);
// A document's text: UTF-8 up to a mebibyte, without a zero in it; refuses others.
void refuse_unless_text(const std::string& content);
constexpr std::size_t most_bytes_of_document = std::size_t{1} << 20;
// Of a JSON body that holds such a text, in which every character may be spelt out.
constexpr std::size_t most_bytes_of_body = 4 * most_bytes_of_document;

// Everything that is wrong with a document, sources that the operator does not allow among it.
CheckedDocument check_text(const Service& service, const std::string& content);
nlohmann::json problems_view(const std::vector<config::Diagnostic>& problems);

}  // namespace stoker::serve
