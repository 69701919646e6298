#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace stoker::test {

// What the real program did, run as a process of its own.
struct Finished {
  int code = -1;  // 128 + signal when a signal ended it
  std::string output;
  std::string errors;
};

// A program that is running; its words go to files, so it never waits for a reader.
class Program {
 public:
  Program(const std::vector<std::string>& words, const std::filesystem::path& folder);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  pid_t process() const { return child_; }
  void send(int signal) const;
  Finished wait();
  std::string output_so_far() const;
  std::string errors_so_far() const;

 private:
  pid_t child_ = -1;
  std::filesystem::path output_;
  std::filesystem::path errors_;
};

// A folder of its own per test, with the program run inside it.
class Workplace {
 public:
  Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace();

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path write(const std::string& name, const std::string& content) const;
  std::string read(const std::filesystem::path& name) const;
  Finished stoker(const std::vector<std::string>& words) const;

 private:
  std::filesystem::path folder_;
};

// Every file below a folder, with its path from there; empty when the folder is not there.
std::vector<std::string> files_below(const std::filesystem::path& folder);

// y = 1 + 2 a - 3 b, with `rows` rows and a column of text.
std::string small_table(int rows);

// A pipeline over houses.csv with the target y: load, split, model, train, evaluate.
std::string ridge_document();
std::string network_document(int epochs);

}  // namespace stoker::test
