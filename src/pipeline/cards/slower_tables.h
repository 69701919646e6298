#pragma once

#include "data/windows/join_as_of.h"
#include "pipeline/cards/card_settings.h"

// What the cards that join slower time frames have in common.
namespace stoker::cards {

inline Input slower_input(Takes takes) {
  return {{"slower", PortType::table,
           "Tables of longer steps, such as hours beside quarters of an hour, joined as they were known at "
           "the time of each row"},
          Rows::joined,
          takes};
}

inline std::vector<Table> slower_tables(const CardContext& context) {
  return all_inputs<Table>(context, "slower");
}

}  // namespace stoker::cards
