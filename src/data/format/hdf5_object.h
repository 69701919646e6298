#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/process/cpu_limit.h"
#include "data/format/hdf5_library.h"

// For the .cpp files that read HDF5.
namespace stoker::hdf5 {

// The library knows no threads: whoever calls it holds this.
std::mutex& mutex();

// CPU seconds that the library has for a file, before those for its size; 60 if it is not set.
constexpr const char* cpu_seconds_variable = "STOKER_HDF5_CPU_SECONDS";
double cpu_seconds_for(const std::filesystem::path& file);

// Holds the mutex, and limits the CPU time of the calling thread: some damaged files keep the library busy
// without an end. `shown` is the file as messages write it.
class LimitedLock {
 public:
  LimitedLock(const std::filesystem::path& file, const std::string& shown);

 private:
  std::lock_guard<std::mutex> lock_;
  CpuLimit limit_;
};

// The message about a file that exceeded the limit.
std::string text_of_endless(const std::string& shown);

// Something of the library's that is closed again.
class Object {
 public:
  Object(Id id, int (*close)(Id)) : id_(id), close_(close) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  Object(Object&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Object& operator=(Object&&) = delete;
  ~Object() {
    if (id_ >= 0) close_(id_);
  }
  Id id() const { return id_; }
  bool is_open() const { return id_ >= 0; }

 private:
  Id id_;
  int (*close_)(Id);
};

// Whether values may come from files other than the one that was opened.
enum class OtherFiles { reject, follow };
inline OtherFiles other_files(bool follow_external) {
  return follow_external ? OtherFiles::follow : OtherFiles::reject;
}

// Both return an object that is not open if there is none. With OtherFiles::reject, external links, external
// storage and virtual datasets of other files are an error: such a file shows its reader's own files to
// whoever wrote it. `shown` names the file.
Object opened_object(const Object& file, const std::string& path, OtherFiles others,
                     const std::string& shown);
Object opened_dataset(const Object& file, const std::string& path, OtherFiles others,
                      const std::string& shown);

// The names of the datasets of a group, without those of its groups.
std::vector<std::string> datasets_in(const Object& file, const std::string& group, OtherFiles others,
                                     const std::string& shown);

}  // namespace stoker::hdf5
