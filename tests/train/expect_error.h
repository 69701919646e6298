#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace stoker::test {

// Runs the action, which must throw an Error with that exit code; returns its message.
template <class Action>
std::string error_of(ExitCode code, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace stoker::test
