// Counts what a program copies to the GPU, by CUPTI, without changing the program:
//   g++ -std=c++17 -O2 -shared -fPIC -I CUDA/include -o libcount_copies.so bench/count_copies.cpp -L CUDA/lib
//   -lcupti CUDA_INJECTION64_PATH=$PWD/libcount_copies.so COPY_COUNTS=counts.txt PROGRAM
// counts.txt then has one line: the number of copies from the host to the GPU, and their bytes.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cupti.h>

namespace {

std::atomic<std::uint64_t> copies{0};
std::atomic<std::uint64_t> bytes{0};

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
  *size = buffer_bytes;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_MEMCPY) continue;
    // The fields that are read here stand at the same place in every version of the record.
    const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
    if (copy->copyKind != CUPTI_ACTIVITY_MEMCPY_KIND_HTOD) continue;
    ++copies;
    bytes += copy->bytes;
  }
  std::free(buffer);
}

void tell() {
  cuptiActivityFlushAll(1);
  const char* path = std::getenv("COPY_COUNTS");
  std::FILE* file = path == nullptr ? stderr : std::fopen(path, "w");
  if (file == nullptr) return;
  std::fprintf(file, "%llu %llu\n", static_cast<unsigned long long>(copies),
               static_cast<unsigned long long>(bytes));
  if (file != stderr) std::fclose(file);
}

}  // namespace

extern "C" int InitializeInjection() {
  cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
  std::atexit(tell);
  return 1;
}
