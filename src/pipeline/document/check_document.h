#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "pipeline/document/document.h"
#include "pipeline/document/sweep_document.h"

namespace stoker {

// What there is to say about the text of a document, a pipeline's or a sweep's.
struct CheckedDocument {
  // In the order of the document's lines; those that belong to no line are of line 0.
  std::vector<config::Diagnostic> problems;
  std::vector<std::string> notes;
  // What may run as it is, and is most likely not what was meant.
  std::vector<config::Diagnostic> warnings;
  // By card, as far as they are known without reading rows (known_columns.h).
  std::map<std::string, std::vector<std::string>> columns;
  // Where nothing is wrong with it.
  std::optional<Document> pipeline;
  std::optional<SweepDocument> sweep;  // of a document with searched settings, in place of the pipeline

  const Document* document() const;  // of either; null where something is wrong
};

// Never throws for what is wrong with the document. `folder` is that of relative paths in it.
CheckedDocument check_document(std::string_view text, const std::filesystem::path& folder,
                               const CardTypes& types = card_types());

}  // namespace stoker
