#pragma once

#include <array>
#include <string_view>

// The kernel's own text, put into the program by embed.cmake: what the run-time compiler reads.
namespace stoker::fused::sources {

extern const std::string_view random;
extern const std::string_view block;
extern const std::string_view block_backward;
extern const std::string_view block_data;
extern const std::string_view block_forward;
extern const std::string_view crowd;
extern const std::string_view crowd_layout;
extern const std::string_view crowd_output;
extern const std::string_view crowd_product;
extern const std::string_view crowd_rows;
extern const std::string_view crowd_state;
extern const std::string_view crowd_trainer;
extern const std::string_view duet;
extern const std::string_view duet_ahead;
extern const std::string_view duet_first;
extern const std::string_view duet_groups;
extern const std::string_view duet_middle;
extern const std::string_view duet_parts;
extern const std::string_view duet_plan;
extern const std::string_view duet_updates;
extern const std::string_view math;
extern const std::string_view plan;
extern const std::string_view ptx;
extern const std::string_view solo;
extern const std::string_view step;
extern const std::string_view team;
extern const std::string_view wgmma;
extern const std::string_view work;

struct Text {
  const char* name;  // as it is included
  std::string_view text;
};
inline std::array<Text, 28> all() {
  return {{{"base/random.h", random},
           {"engine/fused_cuda/block.cuh", block},
           {"engine/fused_cuda/block_backward.cuh", block_backward},
           {"engine/fused_cuda/block_data.cuh", block_data},
           {"engine/fused_cuda/block_forward.cuh", block_forward},
           {"engine/fused_cuda/crowd.cuh", crowd},
           {"engine/fused_cuda/crowd_layout.h", crowd_layout},
           {"engine/fused_cuda/crowd_output.cuh", crowd_output},
           {"engine/fused_cuda/crowd_product.cuh", crowd_product},
           {"engine/fused_cuda/crowd_rows.cuh", crowd_rows},
           {"engine/fused_cuda/crowd_state.cuh", crowd_state},
           {"engine/fused_cuda/crowd_trainer.cuh", crowd_trainer},
           {"engine/fused_cuda/duet.cuh", duet},
           {"engine/fused_cuda/duet_ahead.cuh", duet_ahead},
           {"engine/fused_cuda/duet_first.cuh", duet_first},
           {"engine/fused_cuda/duet_groups.cuh", duet_groups},
           {"engine/fused_cuda/duet_middle.cuh", duet_middle},
           {"engine/fused_cuda/duet_parts.cuh", duet_parts},
           {"engine/fused_cuda/duet_plan.h", duet_plan},
           {"engine/fused_cuda/duet_updates.cuh", duet_updates},
           {"engine/fused_cuda/math.cuh", math},
           {"engine/fused_cuda/plan.h", plan},
           {"engine/fused_cuda/ptx.cuh", ptx},
           {"engine/fused_cuda/solo.cuh", solo},
           {"engine/fused_cuda/step.cuh", step},
           {"engine/fused_cuda/team.cuh", team},
           {"engine/fused_cuda/wgmma.cuh", wgmma},
           {"engine/fused_cuda/work.h", work}}};
}

}  // namespace stoker::fused::sources
