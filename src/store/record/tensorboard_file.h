#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "train/loop/epoch_report.h"

namespace stoker {

// What TensorBoard shows of one training: a folder with event files, which it reads as they grow. Each record
// of such a file is a length, the bytes of a protocol buffer `Event`, and a checksum of either (the form of
// TFRecord files).
class TensorBoardFile {
 public:
  explicit TensorBoardFile(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The first one of a sitting begins a file beside those of earlier ones.
  void add(const EpochReport& epoch);
  // All epochs, when they are known for good: where they are not in one file already, one takes the place of
  // all.
  void replace(const std::vector<EpochReport>& epochs);

 private:
  void begin(std::int64_t first_epoch);
  void write(const std::string& bytes);

  std::filesystem::path folder_;
  std::filesystem::path path_;
  std::ofstream file_;
  std::int64_t first_ = 0;  // epoch of this file, from 1; 0: none yet
  std::int64_t last_ = 0;
  bool tells_again_ = false;  // epochs that it told before
};

// The checksum of TFRecord files before it is masked.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace stoker
