#pragma once

#include "config/diagnostics.h"
#include "config/value.h"
#include "pipeline/document.h"

namespace stoker {

// The form of earlier canvases: {pipeline_id, nodes: [{id, type, config, position}],
// edges: [{source, source_output, target, target_input}]}.
bool is_seed_form(const config::Value& document);

// A document as it is read: one of cuvis.ai or of an earlier canvas in today's form, others as they are.
config::Value in_todays_form(const config::Value& document, const CardTypes& types,
                             config::Diagnostics& diagnostics);

// The same pipeline in today's form. Every value keeps its line; what cannot be carried over is reported.
config::Value from_seed_form(const config::Value& document, const CardTypes& types,
                             config::Diagnostics& diagnostics);

}  // namespace stoker
