#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker::config {

struct Diagnostic {
  int line = 0;
  std::string path;
  std::string message;
};

// Collects everything that is wrong with a document, so that a person sees it all at once, and what is worth
// a word though nothing is wrong.
class Diagnostics {
 public:
  explicit Diagnostics(std::string file) : file_(std::move(file)) {}

  void add(int line, std::string_view path, std::string message);
  bool empty() const { return found_.empty(); }
  const std::vector<Diagnostic>& found() const { return found_; }

  void note(int line, std::string_view path, std::string message);
  std::vector<std::string> notes() const;  // "line 9: cards.train.config.use_amp: ...", each once

  // "pipeline.yaml:9: cards.split.config.train_ration: no such setting; did you mean train_ratio?", one a
  // line, in the order of the document's lines.
  std::string text() const;
  // Throws one Error (exit code 2) that carries text(), if anything was found.
  void refuse_if_any() const;

 private:
  std::string file_;
  std::vector<Diagnostic> found_;
  std::vector<Diagnostic> notes_;
};

}  // namespace stoker::config
