#pragma once

#include "config/diagnostics.h"
#include "config/value.h"
#include "pipeline/document.h"

namespace stoker {

// The form of earlier canvases: {pipeline_id, nodes: [{id, type, config, position}],
// edges: [{source, source_output, target, target_input}]}.
bool is_seed_form(const config::Value& document);

// The same pipeline in today's form. Every value keeps its line; what cannot be carried over is reported.
config::Value from_seed_form(const config::Value& document, const CardTypes& types,
                             config::Diagnostics& diagnostics);

}  // namespace stoker
