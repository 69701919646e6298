#pragma once

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "config/value.h"

namespace stoker::config {

// The message with which `action` was refused (exit code 2); "" when it was not.
template <class Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request);
    return error.what();
  }
  return "";
}

inline std::string yaml_refusal(const std::string& text) {
  return refusal([&] { parse_yaml(text, "doc.yaml"); });
}

inline std::string json_refusal(const std::string& text) {
  return refusal([&] { parse_json(text, "doc.json"); });
}

}  // namespace stoker::config
