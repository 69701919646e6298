#include "store/record/stage_record.h"

#include <nlohmann/json.hpp>

namespace stoker {

nlohmann::json to_json(const std::vector<StageResult>& stages) {
  nlohmann::json list = nlohmann::json::array();
  for (const StageResult& each : stages)
    list.push_back({{"classes", each.classes},
                    {"rows", each.rows},
                    {"replayed_rows", each.replayed_rows},
                    {"epochs", each.epochs},
                    {"accuracies", each.accuracies}});
  return list;
}

std::vector<StageResult> stages_from(const RecordPart& part) {
  std::vector<StageResult> stages;
  part.each("stages", [&](const nlohmann::json& entry, const RecordPart::Place& place) {
    const RecordPart stage(entry, place);
    StageResult read;
    read.rows = stage.whole("rows", 0, 0);
    read.replayed_rows = stage.whole("replayed_rows", 0, 0);
    read.epochs = stage.whole("epochs", 0, 0);
    stage.each("classes", [&](const nlohmann::json& name, const RecordPart::Place& where) {
      read.classes.push_back(RecordPart::text_of(name, where));
    });
    stage.each("accuracies", [&](const nlohmann::json& value, const RecordPart::Place& where) {
      read.accuracies.push_back(RecordPart::number_of(value, where));
    });
    stages.push_back(std::move(read));
  });
  return stages;
}

}  // namespace stoker
