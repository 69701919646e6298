#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <arrow/io/type_fwd.h>
#include <arrow/result.h>

// Rows in JSON, for the .cpp files of this room: an object to a line, or an array of objects.
namespace stoker {

// True for a text that begins with a bracket.
bool is_json_array(const std::filesystem::path& path);

enum class ArrayEnd { required, may_be_missing };

// The text of a file of rows, unpacked, with an object to a line. Row 1 of an array is line 1, whatever lines
// the file has. An array without its end is an error of reading: the file may lack rows.
arrow::Result<std::shared_ptr<arrow::io::InputStream>> open_json_rows(const std::filesystem::path& path,
                                                                      bool is_array, ArrayEnd end);

// Makes lines of an array of objects. Every byte becomes one byte.
class LinesOfArray {
 public:
  // Appends to `out`; a text may be fed in pieces.
  void feed(std::string_view text, std::string& out);
  bool is_ended() const { return is_ended_; }
  // Text after the end of the array, or objects without a comma between them.
  bool is_faulty() const { return is_faulty_; }

 private:
  char changed(char c);

  int depth_ = 0;  // of open brackets, that of the array among them
  bool is_begun_ = false;
  bool is_ended_ = false;
  bool is_faulty_ = false;
  bool after_object_ = false;  // before the comma
  bool in_string_ = false;
  bool is_escaped_ = false;
};

}  // namespace stoker
