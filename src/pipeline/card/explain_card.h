#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/notes.h"
#include "base/process/stop.h"
#include "pipeline/document/document.h"

namespace stoker {

// The first training step of a card that trains, part by part with its numbers
// (train/explain/explain_step.h); nothing is trained or kept. `id` empty: the only card that trains. `cache`
// is the folder of rows that are known.
nlohmann::json explain_card(const Document& document, const std::string& id, std::int64_t rows,
                            const std::filesystem::path& cache, const Notes& notes, const StopSignal& stop);

}  // namespace stoker
