#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "predict/spectral/cube_findings.h"
#include "report/spectral/cube_view.h"
#include "store/record/record_part.h"
#include "store/runs.h"

namespace stoker {

// What is shown of the cubes that a card evaluated a model on, as cubes/CARD.json of a run folder has it.
struct CubeRecord {
  std::int64_t cubes = 0;  // that were measured
  std::vector<CubeView> shown;
  Spectra spectra;
  std::vector<SpectralComponents> components;
  PrecisionRecall curve;
};

struct CardCubes {
  std::string card;  // that evaluated a model on them
  CubeRecord record;
};

CubeRecord cube_record(const CubeFindings& findings, const Table& table);

nlohmann::json to_json(const CubeRecord& record);
CubeRecord cube_record_from(const RecordPart& part);  // refuses what is none
// The same as from the file that it was written to, whose megabytes of base64 need not be parsed then.
CubeRecord cube_record_as_read(nlohmann::json written, const std::filesystem::path& file);

inline std::filesystem::path cubes_folder(const RunPaths& paths) {
  return paths.folder / "cubes";
}

}  // namespace stoker
