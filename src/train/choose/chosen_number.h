#pragma once

#include <cstdint>
#include <string>

namespace stoker {

// A number of a model that was chosen on rows which it was not trained on, and what that was good for there;
// or one that was given.
struct ChosenNumber {
  std::string name;  // "temperature", "decision_threshold"
  double value = 0;
  std::string metric = {};  // by which it was chosen; empty: it was given
  double before = 0;        // that metric without it
  double after = 0;
  std::int64_t rows = 0;
};

std::string title_of(const ChosenNumber& chosen);  // "Decision threshold"
// For people, without the name: "1.27 (log_loss 0.412 instead of 0.431 on 614 rows held back)".
std::string text_of(const ChosenNumber& chosen);

}  // namespace stoker
