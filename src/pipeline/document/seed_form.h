#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/value.h"
#include "pipeline/document/document.h"

namespace stoker {

// The form of earlier canvases: {pipeline_id, nodes: [{id, type, config, position}],
// edges: [{source, source_output, target, target_input}]}.
bool is_seed_form(const config::Value& document);

// A document as it is read: one of cuvis.ai or of an earlier canvas in today's form, others as they are.
config::Value in_todays_form(const config::Value& document, const CardTypes& types,
                             config::Diagnostics& diagnostics);

// A file with what it takes from other files, and with these settings changed.
config::Value load_with(const std::vector<std::string>& assignments, const std::filesystem::path& path,
                        const CardTypes& types, config::Diagnostics& diagnostics);

// The same pipeline in today's form. Every value keeps its line; what cannot be carried over is reported.
config::Value from_seed_form(const config::Value& document, const CardTypes& types,
                             config::Diagnostics& diagnostics);

}  // namespace stoker
