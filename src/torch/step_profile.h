#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/time/elapsed.h"
#include "base/time/trace.h"

namespace stoker::torch_door {

// A clock of the device: its marks lie in the stream, between the work that was given to it before and after.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  virtual void mark() = 0;
  // Of each mark since the last call, in seconds after the first one. Waits for the device.
  virtual std::vector<double> take() = 0;
};

// Where the time of single steps goes, while the process is traced: their parts by the clock of the device,
// the operations of LibTorch by that of the host. The first steps of an engine set things up and are passed
// over.
class StepProfile {
 public:
  // Null on the CPU, where work is done when its call returns.
  explicit StepProfile(std::unique_ptr<DeviceClock> clock);
  ~StepProfile();

  // Before a step: whether it is looked at. Then it must run by itself, operation by operation.
  bool begin_step();
  // How many of so many steps that are not looked at may run in one go.
  std::int64_t pass_over(std::int64_t steps);
  // What has been done since the last part ended; nothing while no step is looked at.
  void ended(const char* part) {
    if (looks_) mark(part);
  }
  void end_step();
  // Between two steps something else was done.
  void interrupt();
  // When the device has been waited for.
  void collect();

 private:
  struct Mark {
    const char* part;  // null: nothing that counts ended here
    Moment moment;
  };
  void mark(const char* part);

  Trace* trace_;
  std::unique_ptr<DeviceClock> clock_;
  std::int64_t passed_over_ = 0;
  bool looks_ = false;
  bool follows_step_ = false;
  std::vector<Mark> marks_;
};

}  // namespace stoker::torch_door
