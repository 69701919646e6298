#include "torch/gpu.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <mutex>

#include <ATen/Context.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/Event.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include "base/error.h"

namespace stoker::torch_door::gpu {
namespace {

// Steps in one graph. Between two graphs lies a gap of a few microseconds, between two steps of one graph
// none.
constexpr std::int64_t chain_length = 16;

// cuBLAS and lazily loaded kernels set themselves up in the first runs, which a capture must not see.
constexpr int warm_up_runs = 3;

// Held while a step is captured, or captured ones and memory go: LibTorch's own books of these are not made
// for several threads at once in every version. Steps of other engines run meanwhile.
std::mutex& capturing() {
  static std::mutex mutex;
  return mutex;
}

// Of LibTorch's pool, whose streams go round: a further engine would be given one that is in use.
struct LentStreams {
  static constexpr int in_pool = 32;
  std::mutex mutex;
  std::vector<c10::Stream> lent;

  c10::Stream lend(c10::Device device) {
    const std::lock_guard lock(mutex);
    for (int i = 0; i < in_pool; ++i) {
      const c10::Stream stream =
          c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index()).unwrap();
      if (std::find(lent.begin(), lent.end(), stream) != lent.end()) continue;
      lent.push_back(stream);
      return stream;
    }
    fail("{} networks train on {} at once already", in_pool, device.str());
  }
  void take_back(const c10::Stream& stream) {
    const std::lock_guard lock(mutex);
    std::erase(lent, stream);
  }
};
LentStreams& lent_streams() {
  static LentStreams streams;
  return streams;
}

std::atomic<int> borrowers = 0;

// What the stream is given between begin and end goes into the graph. A capture is ended in every way out:
// work that throws, for want of memory, would leave a stream behind that can do nothing else.
class Capture {
 public:
  Capture(at::cuda::CUDAGraph& graph, c10::MempoolId_t pool) : graph_(graph), pool_(pool) {
    // Other threads may use CUDA meanwhile.
    graph_.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    if (is_open_) abandon();
  }

  void end() {
    is_open_ = false;
    try {
      graph_.capture_end();
    } catch (...) {
      stop_allocating();
      throw;
    }
  }

 private:
  void abandon() noexcept {
    try {
      graph_.capture_end();
    } catch (const std::exception&) {
      // What made the work fail may have made the capture invalid too; it has ended all the same.
      stop_allocating();
    }
  }
  // LibTorch may stop half-way in ending a capture that has become invalid, and would then take every stream
  // for one that captures.
  void stop_allocating() noexcept {
    try {
      c10::cuda::CUDACachingAllocator::endAllocateToPool(device_, pool_);
    } catch (const std::exception&) {
      // It had stopped already.
    }
  }

  at::cuda::CUDAGraph& graph_;
  const c10::MempoolId_t pool_;
  const c10::DeviceIndex device_ = c10::cuda::current_device();
  bool is_open_ = true;
};

class GraphRunner : public Runner {
 public:
  GraphRunner(Work work, std::vector<at::Tensor> state, const Settings& settings)
      : work_(std::move(work)), state_(std::move(state)), settings_(settings) {}
  ~GraphRunner() override {
    const std::lock_guard lock(capturing());
    for (auto* graphs : {&single_, &chained_})
      for (Graph& graph : *graphs) graph.reset();
  }

  void run(Piece piece, std::int64_t times) override {
    for (; times >= chain_length; times -= chain_length) graph(piece, chain_length).replay();
    for (; times > 0; --times) graph(piece, 1).replay();
  }

 private:
  using Graph = std::unique_ptr<at::cuda::CUDAGraph>;

  at::cuda::CUDAGraph& graph(Piece piece, std::int64_t repeats) {
    auto& graphs = repeats == 1 ? single_ : chained_;
    Graph& graph = graphs[static_cast<std::size_t>(piece)];
    if (!graph) {
      warm_up(piece);
      graph = capture(piece, repeats);
    }
    return *graph;
  }

  void warm_up(Piece piece) {
    std::vector<at::Tensor> kept;
    for (const at::Tensor& tensor : state_) kept.push_back(tensor.clone());
    for (int i = 0; i < warm_up_runs; ++i) work_(piece);
    for (std::size_t i = 0; i < state_.size(); ++i) state_[i].copy_(kept[i]);
  }

  // A capture records and runs nothing, so the state stays as it is.
  Graph capture(Piece piece, std::int64_t repeats) {
    const std::lock_guard lock(capturing());
    settle(settings_);  // an engine on another thread may have made its own since, and a graph keeps them
    auto graph = std::make_unique<at::cuda::CUDAGraph>();
    try {
      Capture capture(*graph, pool_);
      for (std::int64_t i = 0; i < repeats; ++i) work_(piece);
      capture.end();
    } catch (...) {
      // LibTorch takes no capture into a pool that a failed one has let go of, or has left half open.
      pool_ = at::cuda::graph_pool_handle();
      throw;
    }
    return graph;
  }

  Work work_;
  std::vector<at::Tensor> state_;
  Settings settings_;
  // Of all graphs: they run one after the other, and none leaves anything in it for another.
  c10::MempoolId_t pool_ = at::cuda::graph_pool_handle();
  std::array<Graph, piece_count> single_;
  std::array<Graph, piece_count> chained_;
};

class EventClock : public DeviceClock {
 public:
  void mark() override {
    events_.emplace_back(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT);  // one that knows its time
    events_.back().record(c10::cuda::getCurrentCUDAStream().unwrap());
  }
  std::vector<double> take() override {
    std::vector<double> moments;
    if (!events_.empty()) events_.back().synchronize();
    for (const c10::Event& each : events_)
      moments.push_back(&each == &events_.front() ? 0 : events_.front().elapsedTime(each) / milliseconds);
    events_.clear();
    return moments;
  }

 private:
  static constexpr double milliseconds = 1000;
  std::vector<c10::Event> events_;
};

}  // namespace

std::unique_ptr<DeviceClock> make_clock() {
  return std::make_unique<EventClock>();
}

LentStream::LentStream(c10::Device device) : stream_(lent_streams().lend(device)) {}

LentStream::~LentStream() {
  lent_streams().take_back(stream_);
}

kernels::Stream handle_of(const c10::Stream& stream) {
  return c10::cuda::CUDAStream(stream).stream();
}

void multiply_in_fp32() {
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowTF32CuDNN(false);
}

void settle(const Settings& settings) {
  const bool is_deterministic = settings.is_deterministic;
  at::Context& context = at::globalContext();
  context.setAllowTF32CuBLAS(settings.precision == Precision::tf32);
  context.setAllowTF32CuDNN(settings.precision == Precision::tf32);
  context.setBenchmarkCuDNN(!is_deterministic);  // what is fastest may be another way the next time
  context.setDeterministicCuDNN(is_deterministic);
  context.setDeterministicAlgorithms(is_deterministic, /*warn_only=*/false);
  // What cuBLAS wants to be told, and LibTorch asks for. An own choice stands.
  static std::once_flag told;
  if (is_deterministic)
    std::call_once(told, [] { setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0); });
}

MemoryUse memory_use(c10::Device device) {
  using c10::cuda::CUDACachingAllocator::getDeviceStats;
  const auto stats = getDeviceStats(device.index());
  constexpr auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto bytes = [](std::int64_t count) { return static_cast<std::uint64_t>(count > 0 ? count : 0); };
  return {bytes(stats.allocated_bytes[all].current), bytes(stats.reserved_bytes[all].current),
          bytes(stats.allocated_bytes[all].peak)};
}

void BorrowedMemory::begin(c10::Device device) {
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);  // before, there is nothing to count
  has_begun_ = true;
  if (borrowers++ == 0) c10::cuda::CUDACachingAllocator::resetPeakStats(device.index());
}

BorrowedMemory::~BorrowedMemory() {
  if (!has_begun_ || --borrowers > 0) return;
  const std::lock_guard lock(capturing());
  try {
    c10::cuda::CUDACachingAllocator::emptyCache();
  } catch (const std::exception&) {
    // A device that has failed keeps what it has.
  }
}

std::unique_ptr<Runner> make_graph_runner(Work work, std::vector<at::Tensor> state,
                                          const Settings& settings) {
  return std::make_unique<GraphRunner>(std::move(work), std::move(state), settings);
}

}  // namespace stoker::torch_door::gpu
