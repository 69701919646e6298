#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace arrow::io {
class RandomAccessFile;
}

namespace stoker {

// A file of the cache, of which every piece that is read is mapped into memory instead of copied, for as long
// as somebody holds it: a column takes memory while it is used, and what the system has in its own cache is
// there at once. Only for files that are never written to once they have their names: a piece of one that is
// cut short ends the process. Refuses one that cannot be opened.
std::shared_ptr<arrow::io::RandomAccessFile> mapped_file(const std::filesystem::path& path);

// Some bytes of a file, mapped for as long as somebody holds them; nobody may write to them. Refuses a file
// that is shorter. The same holds as above: whoever cuts the file short ends the process.
std::shared_ptr<std::byte> mapped_bytes(const std::filesystem::path& path, std::int64_t begin,
                                        std::int64_t bytes);

}  // namespace stoker
