#pragma once

namespace arrow {
class MemoryPool;
}

namespace stoker {

// Memory for large columns that come and go: whole pages, which go back to the system when they are freed.
// Arrow's own pools and malloc keep what is freed for the next who asks, so that one column after the other
// takes the memory of many. What is small comes from malloc.
arrow::MemoryPool* page_memory();

}  // namespace stoker
