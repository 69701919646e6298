#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/process/child_program.h"
#include "base/text/text.h"
#include "base/time/measure.h"
#include "cli/bench/bench_line.h"
#include "cli/process/interrupt.h"
#include "cli/view/terminal.h"

namespace stoker::cli {
namespace {

namespace fs = std::filesystem;

// The folder that holds bench/peers: where the person stands, or where the program was built.
fs::path repository() {
  std::error_code ignored;
  std::vector<fs::path> places{fs::current_path(ignored)};
  places.push_back(own_program().parent_path().parent_path());
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

// Modules that peers share lie beside them; a peer is what can be run.
bool is_peer(const fs::path& script) {
  return script.extension() == ".py" && read_file(script, 1U << 20).find("__main__") != std::string::npos;
}

// Peers wait as they do on their own, not as torch_door::let_waiting_threads_sleep() has it for this program.
std::vector<std::string> words_of_peer(const std::string& interpreter, const fs::path& script) {
  std::vector<std::string> words{interpreter, script.string()};
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  const char* spins = std::getenv("GOMP_SPINCOUNT");
  if (policy == nullptr || spins == nullptr || std::string_view(policy) != "passive" ||
      std::string_view(spins) != "0")
    return words;
  words.insert(words.begin(),
               {"env", "--unset=OMP_WAIT_POLICY", "--unset=GOMP_SPINCOUNT", "--unset=KMP_BLOCKTIME"});
  return words;
}

// Until it ends, however long that takes; a person who wants to stop stops it too.
ChildOutcome run_whole(const std::vector<std::string>& words) {
  StopSignal stop;
  const InterruptGuard guard(stop);
  ChildOutcome child =
      run_child(words, fs::current_path(), {later_by(now(), 7 * 86'400.0), &stop}, [](pid_t) {});
  if (stop.reason() != StopReason::none) throw Error(ExitCode::interrupted, "interrupted");
  return child;
}

std::vector<BenchLine> run_peer(const fs::path& script, const std::vector<std::string>& python,
                                const std::vector<std::string>& arguments, bool tells) {
  const std::string name = script.filename().string();
  if (tells) tell(fmt::format("measuring {} {} …", name, join(arguments, " ")));
  std::string reason;
  for (const std::string& interpreter : python) {
    std::vector<std::string> words = words_of_peer(interpreter, script);
    words.insert(words.end(), arguments.begin(), arguments.end());
    ChildOutcome finished;
    try {
      finished = run_whole(words);
    } catch (const Error& error) {
      if (error.code() == ExitCode::interrupted) throw;
      continue;  // there is no such interpreter
    }
    std::vector<BenchLine> lines;
    for (const std::string& text : split_text(finished.output, '\n')) {
      if (BenchLine line; read_bench_line(text, line)) lines.push_back(std::move(line));
    }
    if (finished.exit_code == 0) return lines;
    if (reason.empty()) reason = last_words(finished);
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
