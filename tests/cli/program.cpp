#include "cli/program.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stoker::test {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

[[noreturn]] void become(const std::vector<std::string>& words, const fs::path& folder,
                         const fs::path& output, const fs::path& errors) {
  // A test that is run in the background may have been given these as ignored.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
  const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int in = open("/dev/null", O_RDONLY);
  if (out < 0 || err < 0 || chdir(folder.c_str()) != 0) _exit(99);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  execv(pointers[0], pointers.data());
  _exit(98);
}

fs::path fresh_folder() {
  std::string pattern = (fs::temp_directory_path() / "stoker-cli-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  return pattern;
}

}  // namespace

Program::Program(const std::vector<std::string>& words, const fs::path& folder) {
  const fs::path logs = fresh_folder();
  output_ = logs / "output";
  errors_ = logs / "errors";
  child_ = fork();
  if (child_ < 0) throw std::runtime_error("no process could be started");
  if (child_ == 0) become(words, folder, output_, errors_);
}

Program::~Program() {
  if (child_ > 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  std::error_code ignored;
  fs::remove_all(output_.parent_path(), ignored);
}

void Program::send(int signal) const {
  kill(child_, signal);
}

Finished Program::wait() {
  int status = 0;
  waitpid(child_, &status, 0);
  child_ = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content_of(output_),
          content_of(errors_)};
}

std::string Program::output_so_far() const {
  return content_of(output_);
}

std::string Program::errors_so_far() const {
  return content_of(errors_);
}

Workplace::Workplace() : folder_(fresh_folder()) {}

Workplace::~Workplace() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

fs::path Workplace::write(const std::string& name, const std::string& content) const {
  std::ofstream(folder_ / name, std::ios::binary) << content;
  return folder_ / name;
}

std::string Workplace::read(const fs::path& name) const {
  return content_of(folder_ / name);
}

Finished Workplace::stoker(const std::vector<std::string>& words) const {
  std::vector<std::string> all{STOKER_PROGRAM};
  all.insert(all.end(), words.begin(), words.end());
  return Program(all, folder_).wait();
}

std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> files;
  if (!exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    files.push_back(entry.path().lexically_relative(folder).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string small_table(int rows) {
  std::string text = "a,b,kind,y\n";
  for (int i = 0; i < rows; ++i) {
    const double a = (i * 37 % 101) / 10.0;
    const double b = (i * 53 % 97) / 7.0;
    text += fmt::format("{},{},{},{}\n", a, b, i % 3 == 0 ? "flat" : "house", 1 + 2 * a - 3 * b);
  }
  return text;
}

namespace {

std::string document_with(const std::string& model, const char* train_type) {
  return fmt::format(R"(version: 1
name: houses
cards:
  load:
    type: data_load
    config: {{ source: csv, path: houses.csv }}
  split:
    type: data_split
    inputs: {{ dataset: load.dataset }}
  model:
{}
  train:
    type: {}
    inputs: {{ train_dataset: split.train_dataset, model_spec: model.model_spec }}
    config: {{ target_column: y }}
  evaluate:
    type: evaluate
    inputs: {{ trained_model: train.trained_model, test_dataset: split.test_dataset }}
)",
                     model, train_type);
}

}  // namespace

std::string ridge_document() {
  return document_with("    type: model_define\n    config: { model_type: ridge }", "train");
}

std::string network_document(int epochs) {
  return document_with(
      fmt::format(
          "    type: model_define_gpu\n    config: {{ hidden_layers: [8, 4], epochs: {}, batch_size: 16 }}",
          epochs),
      "train_gpu");
}

}  // namespace stoker::test
