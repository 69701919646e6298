#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/slower_flag.h"
#include "config/value.h"
#include "data/windows/windows_config.h"

namespace CLI {
class App;
}

// What `stoker train` takes of a series: the flags that become a card `windows` and the tables that go with
// it.
namespace stoker::cli {

struct SeriesFlags {
  std::optional<std::int64_t> length;
  config::Value settings;           // of the card, by their names
  std::vector<std::string> slower;  // NAME=DATA

  bool are_given() const { return length.has_value(); }
};

void add_series_flags(CLI::App& app, SeriesFlags& flags);

// Refuses flags of a series where --windows is not given, and a model that reads windows without them.
void refuse_without_windows(const SeriesFlags& flags, const std::string& model, bool reads_windows);

// The settings of the card: what was given, what stands among the flags of the split and the training and is
// meant for the series (its time, its groups, its features), and for the rest what suits a series.
config::Value windows_settings(const SeriesFlags& flags, const std::string& target, bool reads_windows,
                               config::Value& split, config::Value& train);

// The same as a look at the table needs them; none where they are wrong, which the run will tell.
std::optional<WindowsConfig> windows_config(const config::Value& settings);

// Cards that read the slower tables, by their ids, and the names of the tables: set in `settings` too.
struct SlowerCard {
  std::string id;
  SlowerFile table;
  config::Value reading;  // settings of the source, left to who knows them
};
std::vector<SlowerCard> slower_cards(const SeriesFlags& flags, config::Value& settings);

}  // namespace stoker::cli
