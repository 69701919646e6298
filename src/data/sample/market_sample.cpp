#include "data/sample/market_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "data/sample/sample_table.h"

namespace stoker {
namespace {

using Series = std::vector<double>;  // a number per bar

constexpr std::int64_t bar_seconds = 15 * 60;
constexpr std::int64_t bars_of_day = 24 * 4;
constexpr std::int64_t first_second = 1'704'067'200;  // 2024-01-01, a Monday
constexpr std::array<std::string_view, 8> symbols{"EURUSD", "GBPUSD", "USDJPY", "AUDUSD",
                                                  "USDCAD", "USDCHF", "NZDUSD", "XAUUSD"};
constexpr std::array<std::string_view, 3> outcomes{"down", "flat", "up"};
constexpr std::size_t fewest_bars_of_symbol = 100;
// Highs and lows of so many bars are what a break goes beyond. With six the three outcomes are about equally
// frequent.
constexpr std::size_t swing_bars = 6;

enum class Draw : std::uint64_t { price, volume, noise };
RandomKey market_key(std::uint64_t seed, std::size_t symbol, Draw draw) {
  return random_key(seed, Purpose::sample, 5'000 + symbol * 16 + static_cast<std::uint64_t>(draw));
}

// Logarithms of prices.
struct Bars {
  Series open, high, low, close;
  std::size_t size() const { return close.size(); }
};

double turn_of(std::size_t bar, std::int64_t period) {
  constexpr double whole_turn = 6.283185307179586;
  return whole_turn * static_cast<double>(static_cast<std::int64_t>(bar) % period) /
         static_cast<double>(period);
}

// A walk of eight steps a bar, livelier in the middle of the day.
Bars walk(std::uint64_t seed, std::size_t symbol, std::size_t count) {
  constexpr std::uint32_t steps = 8;
  const RandomKey key = market_key(seed, symbol, Draw::price);
  const double spread = 0.0004 * (1 + 0.2 * static_cast<double>(symbol));
  Bars bars;
  double price = 0;
  for (std::size_t bar = 0; bar < count; ++bar) {
    const double step = spread * (1 - 0.5 * std::cos(turn_of(bar, bars_of_day)));
    bars.open.push_back(price);
    double high = price;
    double low = price;
    for (std::uint32_t i = 0; i < steps; ++i) {
      price += step * normal(key, static_cast<std::uint32_t>(bar) * steps + i);
      high = std::max(high, price);
      low = std::min(low, price);
    }
    bars.high.push_back(high);
    bars.low.push_back(low);
    bars.close.push_back(price);
  }
  return bars;
}

template <class Value>
Series of_each_bar(std::size_t count, Value value) {
  Series series(count);
  for (std::size_t bar = 0; bar < count; ++bar) series[bar] = value(bar);
  return series;
}

Series change_over(const Series& values, std::size_t bars) {
  return of_each_bar(values.size(),
                     [&](std::size_t bar) { return values[bar] - values[bar - std::min(bar, bars)]; });
}

// Of as many bars as there are, at most so many, ending with each.
Series mean_over(const Series& values, std::size_t bars) {
  double sum = 0;
  return of_each_bar(values.size(), [&](std::size_t bar) {
    sum += values[bar] - (bar >= bars ? values[bar - bars] : 0);
    return sum / static_cast<double>(std::min(bar + 1, bars));
  });
}

// The mean in which older bars count less and less.
Series fading_mean(const Series& values, double bars) {
  double mean = values.empty() ? 0 : values.front();
  return of_each_bar(values.size(),
                     [&](std::size_t bar) { return mean += (values[bar] - mean) * 2 / (bars + 1); });
}

Series difference(const Series& left, const Series& right) {
  return of_each_bar(left.size(), [&](std::size_t bar) { return left[bar] - right[bar]; });
}

Series deviation_over(const Series& values, std::size_t bars) {
  const Series mean = mean_over(values, bars);
  const Series square =
      mean_over(of_each_bar(values.size(), [&](std::size_t bar) { return values[bar] * values[bar]; }), bars);
  return of_each_bar(values.size(), [&](std::size_t bar) {
    return std::sqrt(std::max(0.0, square[bar] - mean[bar] * mean[bar]));
  });
}

// Of a rise and a fall of the same size it is 50.
Series relative_strength(const Series& close, std::size_t bars) {
  const Series change = change_over(close, 1);
  const auto part = [&](double sign) {
    return mean_over(
        of_each_bar(close.size(), [&](std::size_t bar) { return std::max(0.0, sign * change[bar]); }), bars);
  };
  const Series rise = part(1);
  const Series fall = part(-1);
  return of_each_bar(close.size(), [&](std::size_t bar) {
    const double both = rise[bar] + fall[bar];
    return both > 0 ? 100 * rise[bar] / both : 50.0;
  });
}

// The extreme of the bars before each; of the first bar its own.
template <class Better>
Series swing(const Series& values, Better better) {
  return of_each_bar(values.size(), [&](std::size_t bar) {
    double extreme = values[bar == 0 ? 0 : bar - 1];
    for (std::size_t back = 2; back <= std::min(bar, swing_bars); ++back)
      extreme = better(extreme, values[bar - back]);
    return extreme;
  });
}

// What the rule looks at, 1 or 0 for each bar. A break closes beyond the swing, a sweep returns from there.
struct Flags {
  Series break_up, break_down, sweep_high, sweep_low;
};

Flags flags_of(const Bars& bars, const Series& swing_high, const Series& swing_low) {
  const auto flag = [&](auto is_set) {
    return of_each_bar(bars.size(), [&](std::size_t bar) { return is_set(bar) ? 1.0 : 0.0; });
  };
  const auto above = [&](std::size_t bar) { return bars.close[bar] > swing_high[bar]; };
  const auto below = [&](std::size_t bar) { return bars.close[bar] < swing_low[bar]; };
  return {flag(above), flag(below),
          flag([&](std::size_t bar) { return bars.high[bar] > swing_high[bar] && !above(bar); }),
          flag([&](std::size_t bar) { return bars.low[bar] < swing_low[bar] && !below(bar); })};
}

// Position among the outcomes, by the bars first … last.
std::size_t outcome_by_rule(const Flags& flags, std::size_t first, std::size_t last) {
  for (std::size_t bar = last + 1; bar-- > first;) {
    const bool up = flags.break_up[bar] != 0;
    if (!up && flags.break_down[bar] == 0) continue;
    const Series& swept = up ? flags.sweep_low : flags.sweep_high;
    for (std::size_t before = first; before < bar; ++before)
      if (swept[before] != 0) return up ? 2 : 0;
    return 1;
  }
  return 1;
}

// Bars at the beginning, which no whole window belongs to, are judged by what there is.
std::vector<std::string> labels_of(const Flags& flags, RandomKey noise) {
  std::vector<std::string> labels;
  for (std::size_t bar = 0; bar < flags.break_up.size(); ++bar) {
    std::size_t outcome = outcome_by_rule(flags, bar - std::min<std::size_t>(bar, market_window - 1), bar);
    const double drawn = uniform(noise, static_cast<std::uint32_t>(bar));
    if (drawn >= market_best_accuracy)
      outcome += drawn < (1 + market_best_accuracy) / 2 ? 1 : 2;  // the one behind it, or the other
    labels.emplace_back(outcomes[outcome % outcomes.size()]);
  }
  return labels;
}

struct MarketColumn {
  std::string_view name;
  Series values;
};

std::vector<MarketColumn> columns_of(const Bars& bars, const Flags& flags, const Series& swing_high,
                                     const Series& swing_low, RandomKey volume) {
  const std::size_t count = bars.size();
  const Series& close = bars.close;
  const Series step = change_over(close, 1);
  const Series range = difference(bars.high, bars.low);
  const auto each = [count](auto value) { return of_each_bar(count, value); };
  const auto beyond = [&](auto is_set) {
    return each([&](std::size_t bar) { return bar >= 2 && is_set(bar) ? 1.0 : 0.0; });
  };
  return {
      {"return_1", step},
      {"return_4", change_over(close, 4)},
      {"return_16", change_over(close, 16)},
      {"range", range},
      {"body", difference(close, bars.open)},
      {"upper_wick", each([&](std::size_t i) { return bars.high[i] - std::max(bars.open[i], close[i]); })},
      {"lower_wick", each([&](std::size_t i) { return std::min(bars.open[i], close[i]) - bars.low[i]; })},
      {"above_mean_8", difference(close, mean_over(close, 8))},
      {"above_mean_20", difference(close, mean_over(close, 20))},
      {"above_mean_50", difference(close, mean_over(close, 50))},
      {"macd", difference(fading_mean(close, 12), fading_mean(close, 26))},
      {"range_14", mean_over(range, 14)},
      {"strength_14", relative_strength(close, 14)},
      {"deviation_16", deviation_over(step, 16)},
      {"deviation_64", deviation_over(step, 64)},
      {"volume", each([&](std::size_t i) {
         return 7 + 500 * range[i] + 0.3 * normal(volume, static_cast<std::uint32_t>(i));
       })},
      {"to_swing_high", difference(swing_high, close)},
      {"to_swing_low", difference(close, swing_low)},
      {"is_swing_high", beyond([&](std::size_t i) {
         return bars.high[i - 1] > bars.high[i - 2] && bars.high[i - 1] > bars.high[i];
       })},
      {"is_swing_low", beyond([&](std::size_t i) {
         return bars.low[i - 1] < bars.low[i - 2] && bars.low[i - 1] < bars.low[i];
       })},
      {"break_up", flags.break_up},
      {"break_down", flags.break_down},
      {"sweep_high", flags.sweep_high},
      {"sweep_low", flags.sweep_low},
      {"gap_up", beyond([&](std::size_t i) { return bars.low[i] > bars.high[i - 2]; })},
      {"gap_down", beyond([&](std::size_t i) { return bars.high[i] < bars.low[i - 2]; })},
      {"hour_sine", each([](std::size_t i) { return std::sin(turn_of(i, bars_of_day)); })},
      {"hour_cosine", each([](std::size_t i) { return std::cos(turn_of(i, bars_of_day)); })},
      {"week_sine", each([](std::size_t i) { return std::sin(turn_of(i, 7 * bars_of_day)); })},
  };
}

}  // namespace

Table make_market(std::int64_t rows, std::uint64_t seed) {
  const auto all = static_cast<std::size_t>(rows);
  const std::size_t markets = std::clamp<std::size_t>(all / fewest_bars_of_symbol, 1, symbols.size());
  std::vector<std::int64_t> times;
  std::vector<std::string> names;
  std::vector<std::string> labels;
  std::vector<MarketColumn> columns;
  for (std::size_t symbol = 0; symbol < markets; ++symbol) {
    const std::size_t count = all * (symbol + 1) / markets - all * symbol / markets;
    const Bars bars = walk(seed, symbol, count);
    const Series swing_high = swing(bars.high, [](double a, double b) { return std::max(a, b); });
    const Series swing_low = swing(bars.low, [](double a, double b) { return std::min(a, b); });
    const Flags flags = flags_of(bars, swing_high, swing_low);
    for (std::size_t bar = 0; bar < count; ++bar) {
      times.push_back(first_second + static_cast<std::int64_t>(bar) * bar_seconds);
      names.emplace_back(symbols[symbol]);
    }
    for (std::string& each : labels_of(flags, market_key(seed, symbol, Draw::noise)))
      labels.push_back(std::move(each));
    const std::vector<MarketColumn> own =
        columns_of(bars, flags, swing_high, swing_low, market_key(seed, symbol, Draw::volume));
    columns.resize(own.size());
    for (std::size_t c = 0; c < own.size(); ++c) {
      columns[c].name = own[c].name;
      columns[c].values.insert(columns[c].values.end(), own[c].values.begin(), own[c].values.end());
    }
  }
  SampleTable table;
  table.add_times("time", times);
  table.add("symbol", names);
  for (const MarketColumn& each : columns) table.add(std::string(each.name), each.values);
  table.add("label", labels);
  return table.finish();
}

}  // namespace stoker
