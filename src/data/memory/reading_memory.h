#pragma once

namespace arrow {
class MemoryPool;
}

namespace stoker {

// Arrow's usual memory, for reading files; where the host has not enough, in a file (device/row_memory.h).
arrow::MemoryPool* reading_memory();

// Where memory runs out, Arrow mostly says so and sometimes aborts the program; then this tells why. Pools of
// our own note it.
bool memory_ran_out();
void note_that_memory_ran_out();

}  // namespace stoker
