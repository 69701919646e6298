#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/bench_line.h"
#include "cli/terminal.h"

extern char** environ;

namespace stoker::cli {
namespace {

namespace fs = std::filesystem;

// The folder that holds bench/peers: where the person stands, or where the program was built.
fs::path repository() {
  std::error_code ignored;
  std::vector<fs::path> places{fs::current_path(ignored)};
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  if (!program.empty()) places.push_back(program.parent_path().parent_path());
  for (const fs::path& place : places) {
    if (fs::is_directory(place / "bench" / "peers", ignored)) return place;
  }
  refuse("the peers are scripts of the repository, in bench/peers: run this from the repository's folder");
}

std::vector<std::string> pythons(const fs::path& root) {
  std::vector<std::string> found;
  if (const char* wanted = std::getenv("STOKER_PYTHON")) found.emplace_back(wanted);
  if (exists(root / ".venv/bin/python")) found.push_back((root / ".venv/bin/python").string());
  found.emplace_back("python3");
  return found;
}

struct Finished {
  bool done = false;
  std::string output;
  std::string last_error;  // the last line on standard error
};

std::string read_all(int descriptor) {
  std::string all;
  std::string piece(4096, '\0');
  while (true) {
    const ssize_t count = read(descriptor, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return all;
    all.append(piece, 0, static_cast<std::size_t>(count));
  }
}

// Modules that peers share lie beside them; a peer is what can be run.
bool is_peer(const fs::path& script) {
  return script.extension() == ".py" && read_file(script, 1U << 20).find("__main__") != std::string::npos;
}

std::string last_line(const fs::path& file) {
  std::string last;
  for (const std::string& line : split_text(read_file(file, 64U << 20), '\n')) {
    if (!line.empty()) last = line;
  }
  return last;
}

// Runs a program, keeps its standard output, and the last line that it says on standard error.
Finished run_and_read(const std::vector<std::string>& words) {
  const TemporaryFolder folder;
  const std::string errors = (folder.path() / "errors").string();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("no pipe could be created");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t to_default;
  sigemptyset(&to_default);
  sigaddset(&to_default, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &to_default);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, pointers[0], &actions, &attributes, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  Finished result;
  if (error == 0) {
    result.output = read_all(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    result.done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!result.done) result.last_error = last_line(errors);
  }
  close(ends[0]);
  return result;
}

std::vector<BenchLine> run_peer(const fs::path& script, const std::vector<std::string>& python,
                                const std::vector<std::string>& arguments, bool tells) {
  const std::string name = script.filename().string();
  if (tells) tell(fmt::format("measuring {} {} …", name, join(arguments, " ")));
  std::string reason;
  for (const std::string& interpreter : python) {
    std::vector<std::string> words{interpreter, script.string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const Finished finished = run_and_read(words);
    std::vector<BenchLine> lines;
    for (const std::string& text : split_text(finished.output, '\n')) {
      if (BenchLine line; read_bench_line(text, line)) lines.push_back(std::move(line));
    }
    if (finished.done) return lines;
    if (reason.empty()) reason = finished.last_error;
  }
  if (tells) tell(fmt::format("  left out: {}", reason.empty() ? "it could not be run" : reason));
  return {};
}

std::vector<fs::path> peers_named(const std::string& prefix) {
  std::vector<fs::path> scripts;
  for (const auto& entry : fs::directory_iterator(repository() / "bench" / "peers")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && is_peer(entry.path())) scripts.push_back(entry.path());
  }
  std::sort(scripts.begin(), scripts.end());
  return scripts;
}

}  // namespace

std::vector<BenchLine> lines_of_peers(const std::string& prefix, const std::vector<std::string>& arguments,
                                      bool tells) {
  std::vector<BenchLine> lines;
  for (const fs::path& script : peers_named(prefix))
    for (BenchLine& line : run_peer(script, pythons(repository()), arguments, tells))
      lines.push_back(std::move(line));
  return lines;
}

void run_peers(const std::string& prefix, const std::vector<std::string>& arguments, Comparison& comparison) {
  for (const fs::path& script : peers_named(prefix))
    for (const BenchLine& line : run_peer(script, pythons(repository()), arguments, true))
      comparison.show(line);
}

}  // namespace stoker::cli
