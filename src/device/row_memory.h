#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

// Memory for what grows with the rows of a table. The first half of what the host has is ordinary memory.
// What goes beyond are pages of a file that has no name any more, on a disk: the system writes them out when
// it needs the room and reads them again when they are touched, so a table may be larger than memory as long
// as it is gone through in order. STOKER_MEMORY_LIMIT=BYTES makes the host pass for a smaller one.
namespace stoker {

// Uninitialised, aligned to a page. Throws OutOfMemory where neither memory nor the disk has the room.
std::shared_ptr<std::byte> memory_for_rows(std::size_t bytes);
// The same for who keeps books of his own.
std::byte* take_memory_for_rows(std::size_t bytes);
void give_back_memory_for_rows(std::byte* block, std::size_t bytes) noexcept;

// For who has ordinary memory from elsewhere: counts so much of it, and says no where a block should rather
// be taken here.
bool count_memory_for_rows(std::size_t bytes);
void discount_memory_for_rows(std::size_t bytes) noexcept;

// Whether a block lies in a file.
bool lies_in_file(const void* block);
// Bytes that all blocks together may take of memory before the next one lies in a file.
std::uint64_t memory_for_all_rows();

// Where the files lie from now on: in this folder, or the nearest above it that is there. Else in the
// system's temporary folder, or in /var/tmp where that one is in memory itself.
void keep_rows_in(const std::filesystem::path& folder);

}  // namespace stoker
