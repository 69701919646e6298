#pragma once

// Upper bounds that settings of the same kind have in common: beyond them, a number is a slip, overflows a
// float, or makes every training diverge.
namespace stoker::config {

constexpr double most_seconds = 1e9;  // 31 years
constexpr double most_epochs = 1e6;
constexpr double most_patience = 1e9;  // epochs; as good as never
constexpr double most_batch_rows = 1e6;
constexpr double highest_learning_rate = 1e6;
constexpr double highest_weight_decay = 1e3;
constexpr double longest_gradient = 1e12;
constexpr double largest_huber_delta = 1e6;
constexpr double largest_loss_step = 1e12;
constexpr double strongest_penalty = 1e15;
constexpr double widest_layer = 65'536;
constexpr double longest_wavelength = 1e9;  // nm
constexpr double largest_eps = 1e12;        // in units of the data
constexpr double largest_weight = 1e9;      // of a term or an item among others

}  // namespace stoker::config
