#pragma once

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

}  // namespace stoker
