#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/field.h"

namespace stoker {

// Classes that arrive in stages: each is trained on after the other, by the weights that the one before left.
struct StageConfig {
  std::vector<std::vector<std::string>> stages;  // the classes of each; none: all at once
  std::int64_t replay = 2000;

  bool is_wanted() const { return !stages.empty(); }
};

inline config::Fields fields(StageConfig& c) {
  return {
      config::field(
          "stages", c.stages,
          "Classes that arrive one group after the other, such as [[0, 1, 2], [3, 4]]: every stage "
          "trains for all epochs on the rows of its classes, and the last weights of each are kept; "
          "empty: all classes at once"),
      config::field(
          "stage_replay", c.replay,
          "stages: rows of earlier stages that are kept, and trained on again in later ones about as "
          "often as those of the new classes; 0: none")
          .within(0, 100'000'000),
  };
}

// What is true after a stage.
struct StageResult {
  std::vector<std::string> classes;
  std::int64_t rows = 0;           // of its classes, that were trained on
  std::int64_t replayed_rows = 0;  // of earlier stages, without repetitions
  std::int64_t epochs = 0;
  // Share of the rows held back that is right, of the classes of each stage so far; none where none are held
  // back.
  std::vector<double> accuracies = {};
};

}  // namespace stoker
