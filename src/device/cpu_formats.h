#pragma once

namespace stoker {

// Whether the processor has instructions that multiply bfloat16. Without them each product takes many.
bool cpu_multiplies_bf16();

}  // namespace stoker
