#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <arrow/io/type_fwd.h>
#include <arrow/result.h>
#include <arrow/util/type_fwd.h>

// Text files as they are or packed with gzip, Zstandard or bzip2; for the .cpp files of this room.
namespace stoker {

// What is packed may unpack to more than any machine holds, so its reading ends with an error where it takes
// too much memory: what counts is the text and eight bytes for each cell that `delimiter` ends.
arrow::Result<std::shared_ptr<arrow::io::InputStream>> open_text(const std::filesystem::path& path,
                                                                 char delimiter = ',');
// The same without an end, for who knows how much there is to come.
arrow::Result<std::shared_ptr<arrow::io::InputStream>> open_unpacked(const std::filesystem::path& path);
// What a file of `packed_bytes` may take.
std::uint64_t most_unpacked_bytes(std::uint64_t packed_bytes);
// The first bytes of the text, unpacked.
std::string text_start(const std::filesystem::path& path, std::int64_t bytes);
arrow::Result<bool> is_packed(const std::filesystem::path& path);

// Ends with an error like that of open_text where more memory is needed than a file of `packed_bytes` may
// take.
std::shared_ptr<arrow::io::InputStream> bounded(std::shared_ptr<arrow::io::InputStream> unpacked,
                                                char delimiter, std::uint64_t packed_bytes);
// Unpacks while it is read, and keeps the codec as long.
arrow::Result<std::shared_ptr<arrow::io::InputStream>> unpacked_by(
    const std::shared_ptr<arrow::util::Codec>& codec, const std::shared_ptr<arrow::io::InputStream>& packed);

}  // namespace stoker
