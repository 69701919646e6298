#include "fused/cuda/compile_once.h"

#include <exception>

namespace stoker::fused {

CompiledCode CompileOnce::compiled_here(const std::string& key, std::promise<CompiledCode> promise,
                                        const std::function<CompiledCode()>& compile) {
  try {
    CompiledCode code = compile();
    if (code.given_up) forget(key);
    promise.set_value(code);
    return code;
  } catch (...) {
    forget(key);
    promise.set_exception(std::current_exception());
    throw;
  }
}

CompiledCode CompileOnce::get(const std::string& key, const std::function<CompiledCode()>& compile) {
  for (;;) {
    std::promise<CompiledCode> promise;
    std::shared_future<CompiledCode> others;
    {
      const std::lock_guard lock(mutex_);
      const auto [entry, is_first] = known_.try_emplace(key);
      if (is_first)
        entry->second = promise.get_future().share();
      else
        others = entry->second;
    }
    if (!others.valid()) return compiled_here(key, std::move(promise), compile);
    CompiledCode code = others.get();
    if (!code.given_up) return code;
  }
}

void CompileOnce::forget(const std::string& key) {
  const std::lock_guard lock(mutex_);
  known_.erase(key);
}

}  // namespace stoker::fused
