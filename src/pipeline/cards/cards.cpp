#include "pipeline/cards/cards.h"

#include <cstdlib>

namespace stoker {

const CardTypes& built_in_card_types() {
  static const CardTypes types{
      cards::data_load(),
      cards::join_as_of(),
      cards::windows(),
      cards::data_filter(),
      cards::data_split(),
      cards::model_define(),
      cards::model_define_gpu(),
      cards::train(),
      cards::train_gpu(),
      cards::ensemble(),
      cards::evaluate(),
      cards::inference(),
      cards::training_prepare_batch(),
      cards::training_build_model(),
      cards::training_init_optimizer(),
      cards::training_zero_grad(),
      cards::training_forward(),
      cards::training_loss(),
      cards::training_backward(),
      cards::training_optimizer_step(),
  };
  return types;
}

CardTypes with_commands(const std::filesystem::path& folder) {
  CardTypes types = built_in_card_types();
  for (CommandDeclaration& each : commands_in(folder)) types.push_back(cards::command(std::move(each)));
  return types;
}

const CardTypes& card_types() {
  static const CardTypes types = [] {
    const char* folder = std::getenv("STOKER_COMMANDS");
    return folder == nullptr || *folder == '\0' ? built_in_card_types() : with_commands(folder);
  }();
  return types;
}

}  // namespace stoker
