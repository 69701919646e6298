#pragma once

#include "model/restructuring.h"

namespace stoker {

// The lives of experts: births, merges and removals, and the graph of what is known of them. docs/experts.md
// says when each happens and why.
//
// The memory is an object with
//   graph             what is known of the experts that live, see expert_graph.h
//   next_number       of the next one that is born
//   next_look         step of the next look at the router's hesitation, and next_sleep; -1: never
//   sleep_interval    steps
//   last_sleep        step; 0: none yet
//   stage_began       step at which the stage that is under way began; all steps are counted from the first
//                     stage on
//                     (0 where it is missing, as in checkpoints of earlier versions)
//   may_rest          whether experts may still rest in stages to come: not after one in which nobody did
//   sleeps            how many there were
//   hesitation        at the last look; null before the first
//   patience          looks to go by before the next birth, and birth_patience: how many after the next birth
//   events            what was done: step, kind, text
//   epochs            what the graph was at the end of epochs that are epoch_stride apart, for pictures
//                     (both missing in checkpoints of earlier versions)
//   moments           what the graph was after each sleep, for pictures; at most a hundred
const Restructuring& lives_of_experts();

}  // namespace stoker
