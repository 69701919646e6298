#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <vector>

#include <ucontext.h>

// A cluster of blocks on the CPU, thread by thread, so that a kernel's text can be held against another
// engine where there is no GPU: every thread has a stack of its own and runs until it meets others, in an
// instruction of its warp, at a barrier of its block or of the cluster. Kernels that are written for lanes
// which all come to the same instructions run as they would on a GPU, but for how sums are rounded.
#define __device__
#define __forceinline__ inline

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct uint2 {
  unsigned x, y;
};
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}

namespace stoker::emulated {

enum class Meets { nobody, warp, block, cluster };

struct Thread {
  ucontext_t start{};
  std::jmp_buf here{};
  bool has_begun = false;
  bool is_done = false;
  Meets meets = Meets::nobody;
  // What it brings to an instruction of its warp, and what does it for all 32.
  void* brings = nullptr;
  void (*together)(void* const* brought) = nullptr;
};

class Cluster {
 public:
  Cluster(int blocks, int threads, std::size_t shared_bytes)
      : threads_of_block(threads), threads_(static_cast<std::size_t>(blocks * threads)) {
    for (int i = 0; i < blocks; ++i) memories_.emplace_back(shared_bytes, std::uint8_t{0xff});  // no numbers
    if (stacks_.size() < threads_.size() * stack_bytes) stacks_.resize(threads_.size() * stack_bytes);
  }

  void run(const std::function<void()>& kernel) {
    kernel_ = &kernel;
    now_ = this;
    while (step()) {
    }
    now_ = nullptr;
  }

  static Cluster& now() { return *now_; }
  int thread() const { return running_ % threads_of_block; }
  int block() const { return running_ / threads_of_block; }
  int blocks() const { return static_cast<int>(memories_.size()); }
  char* memory(int block) {
    return reinterpret_cast<char*>(memories_[static_cast<std::size_t>(block)].data());
  }
  char* at(std::uint32_t address, std::size_t bytes, int block) {
    if (address + bytes > memories_[static_cast<std::size_t>(block)].size())
      throw std::out_of_range("a thread reads beyond its block's memory");
    return memory(block) + address;
  }

  // Called by a thread: it goes on when those that it meets are there.
  void meet(Meets whom, void* brings = nullptr, void (*together)(void* const*) = nullptr) {
    Thread& thread = threads_[static_cast<std::size_t>(running_)];
    thread.meets = whom;
    thread.brings = brings;
    thread.together = together;
    if (_setjmp(thread.here) == 0) _longjmp(scheduler_, 1);
  }

  const int threads_of_block;
  // Whether those with higher numbers run first: what they share without waiting for each other shows then.
  inline static bool runs_backwards = false;

 private:
  static int turn(int number, int count) { return runs_backwards ? count - 1 - number : number; }

  static constexpr std::size_t stack_bytes = std::size_t{64} << 10;
  static constexpr int lanes = 32;

  static void begin() {
    (*now_->kernel_)();
    now_->threads_[static_cast<std::size_t>(now_->running_)].is_done = true;
    _longjmp(now_->scheduler_, 1);
  }

  void go_on(int number) {
    Thread& thread = threads_[static_cast<std::size_t>(number)];
    running_ = number;
    thread.meets = Meets::nobody;
    if (_setjmp(scheduler_) != 0) return;
    if (thread.has_begun) _longjmp(thread.here, 1);
    thread.has_begun = true;
    getcontext(&thread.start);
    thread.start.uc_stack.ss_sp = stacks_.data() + static_cast<std::size_t>(number) * stack_bytes;
    thread.start.uc_stack.ss_size = stack_bytes;
    thread.start.uc_link = nullptr;
    makecontext(&thread.start, &Cluster::begin, 0);
    setcontext(&thread.start);
  }

  // Runs the warp until it meets more than itself, or ends.
  void run_warp(int first) {
    while (true) {
      for (int i = 0; i < lanes; ++i) go_on(first + turn(i, lanes));
      Thread* warp = &threads_[static_cast<std::size_t>(first)];
      void* brought[lanes];
      for (int i = 0; i < lanes; ++i) {
        if (warp[i].meets != warp[0].meets || warp[i].together != warp[0].together ||
            warp[i].is_done != warp[0].is_done)
          throw std::logic_error("the lanes of a warp have come to different instructions");
        brought[i] = warp[i].brings;
      }
      if (warp[0].is_done || warp[0].meets != Meets::warp) return;
      warp[0].together(brought);
    }
  }

  bool all_meet(int first, int count, Meets whom) const {
    return std::all_of(threads_.begin() + first, threads_.begin() + first + count,
                       [&](const Thread& each) { return each.meets == whom; });
  }

  // Runs all warps whose barrier has come; false: all have ended.
  bool step() {
    const int total = static_cast<int>(threads_.size());
    if (std::all_of(threads_.begin(), threads_.end(), [](const Thread& each) { return each.is_done; }))
      return false;
    const bool cluster_goes_on = all_meet(0, total, Meets::cluster);
    bool any = false;
    const int blocks = total / threads_of_block, warps = threads_of_block / lanes;
    for (int block = 0; block < blocks; ++block) {
      const int first = turn(block, blocks) * threads_of_block;
      const bool begins = !threads_[static_cast<std::size_t>(first)].has_begun;
      if (!begins && !cluster_goes_on && !all_meet(first, threads_of_block, Meets::block)) continue;
      any = true;
      for (int i = 0; i < warps; ++i) run_warp(first + turn(i, warps) * lanes);
    }
    if (!any) throw std::logic_error("threads wait for others that do not come");
    return true;
  }

  inline static Cluster* now_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<std::vector<std::uint8_t>> memories_;
  inline static std::vector<char> stacks_;  // kept from one to the next: to make them costs most of the time
  const std::function<void()>* kernel_ = nullptr;
  std::jmp_buf scheduler_{};
  int running_ = 0;
};

// What all lanes of a warp do together: `work` sees what each brought.
template <class Brought, void (*work)(Brought* const (&)[32])>
void with_warp(Brought& mine) {
  Cluster::now().meet(Meets::warp, &mine, [](void* const* all) {
    Brought* brought[32];
    for (int i = 0; i < 32; ++i) brought[i] = static_cast<Brought*>(all[i]);
    work(brought);
  });
}

// ---- fp16, to the nearest, to even where two are as near
inline std::uint16_t to_half(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const float size = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (size == 0) return static_cast<std::uint16_t>(sign);
  if (size >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7c00U);
  int exponent = 0;
  std::frexp(size, &exponent);
  const int place = std::max(exponent - 11, -24);  // of the last bit
  const double scaled = std::nearbyint(std::ldexp(static_cast<double>(size), -place));
  const auto units = static_cast<std::uint32_t>(scaled);  // of 11 bits, or 2^11 where it was rounded up
  // Bits of a half count on from one exponent to the next.
  const std::uint32_t whole = place == -24 ? units : units + (static_cast<std::uint32_t>(place + 24) << 10);
  return static_cast<std::uint16_t>(sign | whole);
}
inline float from_half(std::uint32_t half) {
  const int exponent = static_cast<int>(half >> 10 & 0x1fU);
  const auto fraction = static_cast<float>(half & 0x3ffU);
  float size = exponent == 0    ? std::ldexp(fraction, -24)
               : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                : std::ldexp(fraction + 1024.0F, exponent - 25);
  return (half & 0x8000U) != 0 ? -size : size;
}
inline float half_of(std::uint32_t word, int which) {
  return from_half(word >> (16 * which) & 0xffffU);
}

struct Shuffled {
  std::uint32_t value;
  int from;
  std::uint32_t got;
};
inline void shuffle(Shuffled* const (&all)[32]) {
  for (Shuffled* each : all) each->got = all[each->from & 31]->value;
}
inline void ballot(Shuffled* const (&all)[32]) {
  std::uint32_t bits = 0;
  for (int i = 0; i < 32; ++i) bits |= (all[i]->value != 0 ? 1U : 0U) << i;
  for (Shuffled* each : all) each->got = bits;
}
template <class T>
T shuffled(T value, int from) {
  Shuffled mine{0, from, 0};
  std::memcpy(&mine.value, &value, 4);
  with_warp<Shuffled, shuffle>(mine);
  std::memcpy(&value, &mine.got, 4);
  return value;
}

}  // namespace stoker::emulated

// The names that kernels know them by.
#define threadIdx                             \
  stoker::emulated::ThreadIndex {             \
    stoker::emulated::Cluster::now().thread() \
  }
#define blockIdx                             \
  stoker::emulated::ThreadIndex {            \
    stoker::emulated::Cluster::now().block() \
  }
#define gridDim                               \
  stoker::emulated::ThreadIndex {             \
    stoker::emulated::Cluster::now().blocks() \
  }
namespace stoker::emulated {
struct ThreadIndex {
  int x;
};
}  // namespace stoker::emulated

template <class T>
T __shfl_sync(unsigned, T value, int from) {
  return stoker::emulated::shuffled(value, from);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int by) {
  return stoker::emulated::shuffled(value, (stoker::emulated::Cluster::now().thread() % 32) ^ by);
}
inline unsigned __ballot_sync(unsigned, bool is_true) {
  stoker::emulated::Shuffled mine{is_true ? 1U : 0U, 0, 0};
  stoker::emulated::with_warp<stoker::emulated::Shuffled, stoker::emulated::ballot>(mine);
  return mine.got;
}
inline int __popc(unsigned bits) {
  return __builtin_popcount(bits);
}
inline void __syncwarp() {
  __ballot_sync(~0U, true);
}
// Threads run one at a time.
inline unsigned atomicAdd(unsigned* place, unsigned value) {
  const unsigned before = *place;
  *place += value;
  return before;
}
inline void __syncthreads() {
  stoker::emulated::Cluster::now().meet(stoker::emulated::Meets::block);
}
// Hints to the caches.
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
void __stcs(T* to, const T& value) {
  *to = value;
}
inline float __expf(float x) {
  return std::exp(x);
}
inline float __fdividef(float one, float by) {
  return one / by;
}
inline float rsqrtf(float x) {
  return 1.0F / std::sqrt(x);
}
inline int max(int one, int other) {
  return std::max(one, other);
}
inline float __uint_as_float(unsigned bits) {
  float value = 0;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline unsigned __float_as_uint(float value) {
  unsigned bits = 0;
  std::memcpy(&bits, &value, 4);
  return bits;
}
