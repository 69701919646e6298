#include "pipeline/document/check_document.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text/text.h"
#include "pipeline/cache/known_columns.h"
#include "pipeline/card/graph.h"
#include "pipeline/document/seed_form.h"
#include "pipeline/run/space.h"

namespace stoker {
namespace {

using config::Diagnostic;
using config::Diagnostics;
using config::Value;

// What stands before the line in messages of those who know the document by a file's name.
constexpr std::string_view name_of_text = "document";

// "document:9: …" of a syntax error, as the parsers write it.
Diagnostic problem_in(std::string_view message) {
  Diagnostic problem;
  const auto skip = [&](std::string_view start) {
    if (!message.starts_with(start)) return false;
    message.remove_prefix(start.size());
    return true;
  };
  if (skip(name_of_text) && skip(":")) {
    const auto read = std::from_chars(message.data(), message.data() + message.size(), problem.line);
    if (read.ec == std::errc()) message.remove_prefix(static_cast<std::size_t>(read.ptr - message.data()));
    skip(":");
    skip(" ");
  }
  problem.message = std::string(message);
  return problem;
}

bool has_searched_settings(Value document) {
  return !take_space_out(document).empty();
}

void check_value(const Value& written, const std::filesystem::path& folder, const CardTypes& types,
                 Diagnostics& diagnostics, CheckedDocument& checked) {
  if (written.is_null()) refuse("the document is empty");
  if (has_searched_settings(written)) {
    checked.sweep = read_sweep(written, std::string(name_of_text), folder, types, diagnostics);
    return;
  }
  const Value value = in_todays_form(written, types, diagnostics);
  Document document = read_document(value, types, diagnostics);
  if (!diagnostics.empty()) return;
  finish_reading(document, "", folder);
  checked.pipeline = std::move(document);
}

// The document stays as it was read: who has what is missing may run it.
void check_names(const Value& written, CheckedDocument& checked) {
  const Document* document = checked.document();
  if (document == nullptr) return;
  checked.warnings = tests_on_training_rows(document->cards);
  KnownNames known = known_names(*document, &written);
  checked.columns = std::move(known.columns);
  checked.warnings.insert(checked.warnings.end(), known.no_masks.begin(), known.no_masks.end());
  for (const auto* found : {&known.no_sources, &known.no_columns})
    checked.problems.insert(checked.problems.end(), found->begin(), found->end());
}

}  // namespace

const Document* CheckedDocument::document() const {
  if (pipeline) return &*pipeline;
  return sweep ? &sweep->base : nullptr;
}

CheckedDocument check_document(std::string_view text, const std::filesystem::path& folder,
                               const CardTypes& types) {
  CheckedDocument checked;
  Diagnostics diagnostics{std::string(name_of_text)};
  try {
    const Value written = config::parse_document(text, std::string(name_of_text));
    check_value(written, folder, types, diagnostics, checked);
    if (diagnostics.empty()) check_names(written, checked);
  } catch (const Error& error) {
    if (error.code() != ExitCode::wrong_request || error.cause() == Cause::machine) throw;
    // What the diagnostics have is told line by line; this is what they do not have.
    if (diagnostics.empty()) checked.problems.push_back(problem_in(error.what()));
  }
  checked.problems.insert(checked.problems.end(), diagnostics.found().begin(), diagnostics.found().end());
  std::ranges::stable_sort(checked.problems, {}, &Diagnostic::line);
  checked.notes = diagnostics.notes();
  return checked;
}

}  // namespace stoker
