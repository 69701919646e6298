#include "pipeline/cards/cards.h"

namespace stoker {

const CardTypes& card_types() {
  static const CardTypes types{
      cards::data_load(),  cards::join_as_of(),   cards::windows(),          cards::data_filter(),
      cards::data_split(), cards::model_define(), cards::model_define_gpu(), cards::train(),
      cards::train_gpu(),  cards::ensemble(),     cards::evaluate(),         cards::inference(),
  };
  return types;
}

}  // namespace stoker
