#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "data/hdf5_library.h"

// For the .cpp files that read HDF5.
namespace stoker::hdf5 {

// The library knows no threads: whoever calls it holds this.
std::mutex& mutex();

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

// The names of those that lie in a group itself.
std::vector<std::string> datasets_in(const Object& file, const std::string& group);

}  // namespace stoker::hdf5
