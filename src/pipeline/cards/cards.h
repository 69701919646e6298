#pragma once

#include "pipeline/card/card.h"
#include "pipeline/document/command_declaration.h"

// Each declared in the file of its name; those that end in _gpu beside the others.
namespace stoker::cards {

CardType data_load();
CardType data_filter();
CardType join_as_of();
CardType data_split();
CardType windows();
CardType model_define();
CardType model_define_gpu();
CardType train();
CardType train_gpu();
CardType evaluate();
CardType inference();
// The eight parts of one training step.
CardType training_prepare_batch();
CardType training_build_model();
CardType training_init_optimizer();
CardType training_zero_grad();
CardType training_forward();
CardType training_loss();
CardType training_backward();
CardType training_optimizer_step();
CardType ensemble();
// One for each of the operator's own programs.
CardType command(CommandDeclaration declaration);

}  // namespace stoker::cards
