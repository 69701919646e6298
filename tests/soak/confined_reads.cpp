// Reads files as the service does for its clients, each in a confined child, and says how it went.
//
//   STOKER_CONFINE_READERS=FOLDER confined_reads < REQUESTS
//
// A request is one line of JSON, the settings of a data_load card. The answer is one line: whether the rows
// were read, else the exit code and the message that the program would end with. Whatever a file does to its
// reader, this process must live.
#include <cstdio>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/field.h"
#include "config/json_text.h"
#include "data/reader_child.h"
#include "data/source.h"

using nlohmann::json;
using namespace stoker;

namespace {

json answer_to(const std::string& request) {
  try {
    config::Diagnostics diagnostics("request");
    const auto config =
        config::read<SourceConfig>(config::from_json(json::parse(request)), "config", diagnostics);
    diagnostics.refuse_if_any();
    const Source source = Source::open(config, "/");
    source.first_rows();
    return {{"rows", source.read().rows()}};
  } catch (const Error& error) {
    return {{"code", static_cast<int>(error.code())}, {"message", error.what()}};
  }
}

}  // namespace

int main(int count, char** words) {
  if (count > 1 && std::string(words[1]) == reader_child_word)
    return static_cast<int>(serve_as_reader_child());
  std::string request;
  while (std::getline(std::cin, request)) std::cout << config::json_text(answer_to(request)) << std::endl;
  return 0;
}
