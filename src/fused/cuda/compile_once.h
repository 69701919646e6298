#pragma once

#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>

namespace stoker::fused {

struct CompiledCode {
  std::string code;  // empty: there is none, and why_not says why
  std::string why_not;
  bool given_up = false;  // by whoever compiled it: it says nothing about the source
};

// Code by its key. Whoever asks first compiles, others wait for it, so that a kernel which is being compiled
// ahead is not compiled a second time. For many threads.
class CompileOnce {
 public:
  // What compile() throws, every waiter gets; who asks afterwards compiles again.
  CompiledCode get(const std::string& key, const std::function<CompiledCode()>& compile);
  // Lets go of code that is loaded and kept elsewhere.
  void forget(const std::string& key);

 private:
  CompiledCode compiled_here(const std::string& key, std::promise<CompiledCode> promise,
                             const std::function<CompiledCode()>& compile);

  std::mutex mutex_;
  std::map<std::string, std::shared_future<CompiledCode>> known_;
};

}  // namespace stoker::fused
