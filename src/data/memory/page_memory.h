#pragma once

namespace arrow {
class MemoryPool;
}

namespace stoker {

// Memory for large columns that come and go: whole pages, which go back to the system when they are freed.
// Arrow's own pools and malloc keep what is freed for the next who asks, so that one column after the other
// takes the memory of many. Where the host has not enough, they are pages of a file (device/row_memory.h).
// What is small comes from malloc.
arrow::MemoryPool* page_memory();

}  // namespace stoker
