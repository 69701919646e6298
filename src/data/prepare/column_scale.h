#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/prepare/preparation_config.h"

namespace stoker {

// Learns how the numbers of a training column are scaled; none of them is missing. Refuses numbers that are
// too large for it.
void learn_scale(PreparedColumn& column, const std::vector<double>& numbers, Scaling scaling);
// The same of numbers that are none of a column's own and are known not to be too large.
void learn_scale(ColumnScale& column, const std::vector<double>& numbers, Scaling scaling);

struct NumberRange {
  double low = 0;
  double high = 0;
  bool are_dates = false;  // in seconds since 1970

  // Beyond an end by more than half of the width: what lies closer a model can well be asked for.
  bool is_far_from(double number) const {
    const double most_beyond = (high - low) / 2;
    return number < low - most_beyond || number > high + most_beyond;
  }
};

// Keeps where the numbers of a training column lie.
void learn_range(ColumnScale& column, const std::vector<double>& numbers);
// None where the column holds no numbers, or an earlier version has not kept it.
std::optional<NumberRange> range_of(const PreparedColumn& column);

// A number of the column as a model reads it; NaN and infinite numbers stay.
double scaled(const ColumnScale& column, double number);

// Many numbers of one column, which must outlive it; each becomes what scaled() makes of it, several times as
// fast where the column is scaled by ranks.
class ScaledBlocks {
 public:
  explicit ScaledBlocks(const ColumnScale& column);
  void scale(std::span<double> numbers) const;

 private:
  static constexpr std::size_t cells = 2048;
  static constexpr std::size_t most_numbers = 512;

  std::size_t cell_of(double number) const;
  double share_of(double number) const;
  void scale_by_rank(std::span<double> numbers) const;

  const ColumnScale* column_;
  // The range of the quantiles in cells of one width: of each the first quantile in it, or behind it.
  double cells_a_unit_ = 0;
  std::vector<std::uint32_t> first_of_cell_;
  std::vector<double> padded_;  // the quantiles, and some that nothing reaches
  std::vector<double> shares_;  // of training rows below each quantile
};

}  // namespace stoker
