#pragma once

#include "config/value.h"

namespace CLI {
class App;
}

namespace stoker::cli {

// --class-weights yes=5,no=1, which lands in `given` as the map that a document would have held.
void add_class_weights_flag(CLI::App& app, config::Value& given);

}  // namespace stoker::cli
