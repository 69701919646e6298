#pragma once

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "cli/program.h"
#include "patience.h"

namespace stoker::test {

// The command `own` of a workplace: words of a shell, with $input and $output. Returns the folder of
// commands.
inline std::string write_own_command(const Workplace& place, const std::string& words,
                                     const std::string& declared = "") {
  namespace fs = std::filesystem;
  const fs::path folder = place.folder() / "commands";
  fs::create_directories(folder);
  place.write("commands/own.yaml",
              "title: Own\nhelp: Of one's own\nprogram: own.sh\n"
              "inputs: { dataset: { help: Rows } }\noutputs: { dataset: { help: Rows } }\n" +
                  declared);
  fs::permissions(place.write("commands/own.sh",
                              "#!/bin/sh\nhere=$(dirname \"$1\")\ninput=$here/inputs/dataset.arrow\n"
                              "output=$here/written/outputs/dataset.arrow\n" +
                                  words + "\n"),
                  fs::perms(0755));
  return folder.string();
}

// Words by which a command leaves its number in a file of the workplace.
inline std::string notes_its_number(const Workplace& place) {
  const std::string file = (place.folder() / "number").string();
  return "echo $$ > " + file + ".new; mv " + file + ".new " + file + "; ";
}

inline pid_t noted_number(const Workplace& place) {
  pid_t number = 0;
  comes_true([&] { return static_cast<bool>(std::ifstream(place.folder() / "number") >> number); });
  return number;
}

inline bool ends_soon(pid_t process) {
  return process > 0 && comes_true([&] { return ::kill(process, 0) != 0 && errno == ESRCH; });
}

}  // namespace stoker::test
