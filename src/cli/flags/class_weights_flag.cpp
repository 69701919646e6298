#include "cli/flags/class_weights_flag.h"

#include <algorithm>
#include <string>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "config/flags.h"
#include "data/target/class_weights.h"

namespace stoker::cli {
namespace {

// The name of a class may hold commas and equals signs itself: it ends at the last one before a number.
void add_weights(const std::string& text, config::Value& weights) {
  config::Field number;
  number.type = config::FieldType::number;
  std::string name;
  for (const std::string& part : split_text(text, ',')) {
    name += (name.empty() ? "" : ",") + part;
    const std::size_t between = name.rfind('=');
    if (between == std::string::npos || between == 0) continue;
    weights.set(name.substr(0, between), config::flag_value(number, name.substr(between + 1)));
    name.clear();
  }
  if (!name.empty()) refuse("--class-weights takes CLASS=WEIGHT,..., such as yes=5, found '{}'", text);
}

}  // namespace

void add_class_weights_flag(CLI::App& app, config::Value& given) {
  ClassWeighting usual;
  const config::Fields settings = fields(usual);
  const auto field = std::ranges::find(settings, config::FieldType::map, &config::Field::type);
  const CLI::callback_t take = [&given, name = field->name](const CLI::results_t& texts) {
    config::Value weights(config::Value::Map{});
    for (const std::string& text : texts) add_weights(text, weights);
    given.set(name, std::move(weights));
    return true;
  };
  app.add_option(config::flag_name(*field), take, field->help)
      ->type_name("CLASS=WEIGHT,...")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace stoker::cli
