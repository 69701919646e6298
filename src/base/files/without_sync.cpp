#include "base/files/without_sync.h"

namespace stoker {
namespace {

thread_local int scopes = 0;

}  // namespace

WithoutSync::WithoutSync() {
  ++scopes;
}

WithoutSync::~WithoutSync() {
  --scopes;
}

bool WithoutSync::is_on() {
  return scopes > 0;
}

}  // namespace stoker
