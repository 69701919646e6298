#pragma once

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "base/files/files.h"
#include "patience.h"
#include "pipeline/watchers.h"

namespace stoker {

// A folder with one command of shell words, a document that runs it, and what comes of that.
class CommandsPlace {
 public:
  CommandsPlace() {
    make_folder(commands());
    std::string rows = "x,word\n";
    for (int i = 0; i < 20; ++i) rows += std::to_string(i) + ".5,w" + std::to_string(i % 3) + "\n";
    write_file(folder_.path() / "rows.csv", rows);
  }

  std::filesystem::path folder() const { return folder_.path(); }
  std::filesystem::path commands() const { return folder_.path() / "commands"; }

  void write_program(const std::string& words, const std::string& name = "own.sh") const {
    write_file(commands() / name,
               "#!/bin/sh\nhere=$(dirname \"$1\")\ninput=$here/inputs/dataset.arrow\n"
               "output=$here/written/outputs/dataset.arrow\n" +
                   words + "\n");
    std::filesystem::permissions(commands() / name, std::filesystem::perms(0755));
  }
  void declare(const std::string& more = "", const std::string& name = "own") const {
    std::string text = "title: Own\nhelp: Of one's own\nprogram: own.sh\n";
    if (more.find("inputs:") == std::string::npos) text += "inputs: { dataset: { help: Rows } }\n";
    if (more.find("outputs:") == std::string::npos) text += "outputs: { dataset: { help: Rows } }\n";
    write_file(commands() / (name + ".yaml"), text + more);
  }
  // `words` of a shell, with $input and $output.
  void command(const std::string& words, const std::string& declared = "") const {
    write_program(words);
    declare(declared);
  }

  Document document(const std::string& settings = "", const std::string& keys = "") {
    types_.push_back(std::make_unique<CardTypes>(with_commands(commands())));
    const std::string text =
        "version: 1\nname: own\ncards:\n"
        "  load: { type: data_load, config: { source: csv, path: rows.csv } }\n"
        "  own: { type: command:own, inputs: { dataset: load.dataset }, config: { " +
        settings + " }" + keys + " }\n";
    return read_document(config::parse_yaml(text, "own.yaml"), "own.yaml", folder(), *types_.back());
  }
  RunOptions options() const { return options_in(folder_.path() / "runs"); }

  Watched run(const std::string& settings = "") { return run_watched(document(settings), options()); }
  Error failure(const std::string& keys = "") { return failure_of(document("", keys), options(), watcher); }

  // Number of a process that a program wrote into a file, as soon as it is there.
  pid_t process_in(const std::string& name) const {
    pid_t number = 0;
    test::comes_true([&] { return static_cast<bool>(std::ifstream(folder() / name) >> number); });
    return number;
  }
  static bool is_gone(pid_t process) { return process > 0 && ::kill(process, 0) != 0 && errno == ESRCH; }

  Watcher watcher;

 private:
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<CardTypes>> types_;
};

}  // namespace stoker
