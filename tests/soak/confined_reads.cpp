// Reads files as the service does for its clients, each in a confined child, and says how it went.
//
//   STOKER_CONFINE_READERS=FOLDER confined_reads [FILES_OF_A_CHILD] < REQUESTS
//
// The service starts a child for each file. With FILES_OF_A_CHILD, so many files are read by one child, which
// takes a tenth of the time. They are then in one folder.
//
// A request is one line of JSON, the settings of a data_load card. The answer is one line: whether the rows
// were read, else the exit code and the message that the program would end with. Whatever a file does to its
// reader, this process must live.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/field.h"
#include "config/json_text.h"
#include "data/confined/reader_child.h"
#include "data/confined/reader_process.h"
#include "data/source/source.h"
#include "data/table/table.h"

using nlohmann::json;
using namespace stoker;

namespace {

std::int64_t rows_in_own_child(const json& request) {
  config::Diagnostics diagnostics("request");
  const auto config = config::read<SourceConfig>(config::from_json(request), "config", diagnostics);
  diagnostics.refuse_if_any();
  const Source source = Source::open(config, "/");
  source.first_rows();
  return source.read().rows();
}

class SharedChild {
 public:
  explicit SharedChild(int most_files) : most_files_(most_files) {}

  std::int64_t rows(const json& request) {
    const std::filesystem::path file = request.at("path").get<std::string>();
    if (process_ == nullptr || !process_->is_running() || files_++ == most_files_) {
      process_ = std::make_unique<ReaderProcess>(file.string(), SourceConfig{}, Reach{{file.parent_path()}});
      files_ = 1;
    }
    const json texts = json::array();
    process_->ask({{"do", "open"}, {"config", request}, {"base", "/"}});
    process_->ask({{"do", "first_rows"}, {"texts", texts}});
    process_->ask({{"do", "read"}, {"texts", texts}});
    return read_arrow(process_->scratch() / name_of_rows).rows();
  }

 private:
  int most_files_ = 0;
  int files_ = 0;
  std::unique_ptr<ReaderProcess> process_;
};

json answer_to(const json& request, SharedChild* shared) {
  try {
    return {{"rows", shared == nullptr ? rows_in_own_child(request) : shared->rows(request)}};
  } catch (const Error& error) {
    return {{"code", static_cast<int>(error.code())}, {"message", error.what()}};
  }
}

}  // namespace

int main(int count, char** words) {
  if (count > 1 && std::string(words[1]) == reader_child_word)
    return static_cast<int>(serve_as_reader_child());
  const int files_of_a_child = count > 1 ? std::atoi(words[1]) : 1;
  SharedChild shared(files_of_a_child);
  std::string request;
  while (std::getline(std::cin, request)) {
    const json answer = answer_to(json::parse(request), files_of_a_child > 1 ? &shared : nullptr);
    std::cout << config::json_text(answer) << std::endl;
  }
  return 0;
}
