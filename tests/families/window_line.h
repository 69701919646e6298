#pragma once

// A family that nothing but these tests has: a straight line through all values of a window, which shows what
// becomes of a series on its way to a model that reads windows and back.
namespace stoker::test {

// Adds the family `window_line` and its module to their tables, once.
void add_window_line();

}  // namespace stoker::test
