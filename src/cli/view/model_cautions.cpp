#include "cli/view/model_cautions.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/view/terminal.h"
#include "report/run/contents.h"
#include "store/runs.h"

namespace stoker::cli {

std::vector<Caution> cautions_about(const std::filesystem::path& model_folder) {
  const std::filesystem::path folder = std::filesystem::absolute(model_folder).lexically_normal();
  const RunPaths run{folder.parent_path()};
  std::vector<Caution> cautions;
  if (!std::filesystem::exists(run.folder / "run.json")) return cautions;
  try {
    for (const RunRecord::Result& result : read_record(run).results) {
      const std::filesystem::path file = run.evaluations() / (result.card + ".json");
      if (result.model != folder.filename() || !std::filesystem::exists(file)) continue;
      const Evaluation evaluation = read_evaluation(file);
      cautions.insert(cautions.end(), evaluation.cautions.begin(), evaluation.cautions.end());
    }
  } catch (const Error& error) {
    tell(fmt::format("note: what the run of the model measured cannot be read: {}", error.what()));
  }
  return cautions;
}

}  // namespace stoker::cli
