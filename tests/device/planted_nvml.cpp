#include <cstring>

// A driver's library for machines that have none: one GPU that is half busy, at 250 W.
extern "C" {

struct PlantedRates {
  unsigned int gpu, memory;
};
struct PlantedMemory {
  unsigned long long total, free, used;
};

int nvmlInit_v2() {
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int, void** device) {
  static int gpu = 0;
  *device = &gpu;
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* place, void** device) {
  return std::strcmp(place, "0000:0F:00.0") == 0 ? nvmlDeviceGetHandleByIndex_v2(0, device) : 6;  // not found
}
int nvmlDeviceGetName(void*, char* name, unsigned int length) {
  std::strncpy(name, "Planted GPU", length);
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, PlantedRates* rates) {
  *rates = {50, 10};
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned int* milliwatts) {
  *milliwatts = 250'000;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, PlantedMemory* memory) {
  *memory = {8ULL << 30, 6ULL << 30, 2ULL << 30};
  return 0;
}
int nvmlDeviceGetClockInfo(void*, unsigned int type, unsigned int* megahertz) {
  *megahertz = type == 1 ? 1755 : 1;
  return 0;
}
int nvmlDeviceGetTemperature(void*, unsigned int, unsigned int*) {
  return 3;  // not supported
}

}  // extern "C"
