#pragma once

#include "config/field.h"
#include "serve/http/route.h"

namespace stoker::serve {

// The fields of a body; refuses it with all that is wrong.
template <class T>
T body_as(const config::Value& body) {
  config::Diagnostics diagnostics("body");
  T read = config::read<T>(body, "", diagnostics);
  diagnostics.refuse_if_any();
  return read;
}

}  // namespace stoker::serve
