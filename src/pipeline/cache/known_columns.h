#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/value.h"
#include "pipeline/document/document.h"

namespace stoker {

// What is known of the names in a document before any row is read, from records and from what cards do with
// columns.
struct KnownNames {
  // By card: the columns of the table that it reads or, where it reads none, of its source. Cards of which
  // that is not known are left out.
  std::map<std::string, std::vector<std::string>> columns;
  // Columns that the table of a card does not have.
  std::vector<config::Diagnostic> no_columns;
  // Datasets that are not on record here. They may be where the document is run.
  std::vector<config::Diagnostic> no_sources;
  // Evaluations over cubes without masks, in which nothing can be measured.
  std::vector<config::Diagnostic> no_masks;
};

// `written` is the document as it was read, for the lines of its settings; null: those of the cards. Whether
// files are looked at, as far as they are here: a service does not for everybody who asks.
enum class FilesOfSources { left_alone, looked_at };
KnownNames known_names(const Document& document, const config::Value* written = nullptr,
                       FilesOfSources files = FilesOfSources::left_alone);

}  // namespace stoker
