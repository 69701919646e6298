#include "train/fit/variants.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/text/text.h"
#include "config/diagnostics.h"

namespace stoker {
namespace {

using config::Value;

constexpr std::size_t most_variants = 100;

// What is predicted, from which columns, and how rows count is the same for all members.
constexpr std::array<std::string_view, 4> preparation_that_may_vary{"missing_values", "categorical_encoding",
                                                                    "max_categories", "scaling"};

std::vector<std::string> names_that_may_vary(const config::Fields& own) {
  std::vector<std::string> names;
  for (const config::Field& each : own) names.push_back(each.name);
  TrainingSettings training;
  for (const config::Field& each : fields(training))
    if (each.changes == config::Changes::nothing_else) names.push_back(each.name);
  names.insert(names.end(), preparation_that_may_vary.begin(), preparation_that_may_vary.end());
  return names;
}

bool may_vary_in_preparation(const std::string& name) {
  return std::ranges::find(preparation_that_may_vary, name) != preparation_that_may_vary.end();
}

// The settings with those of the variant that they know in place of theirs.
Value varied(Value settings, const Value::Map& variant) {
  for (const config::Entry& entry : variant)
    if (settings.find(entry.key) != nullptr) settings.set(entry.key, entry.value);
  return settings;
}

Variant variant_from(const Variant& common, const Value::Map& changes, const std::string& path,
                     config::Diagnostics& diagnostics) {
  const Family& family = family_of(common.spec);
  const std::vector<std::string> known = names_that_may_vary(family.describe().fields);
  for (const config::Entry& entry : changes)
    if (std::find(known.begin(), known.end(), entry.key) == known.end())
      diagnostics.add(entry.line, path + "." + entry.key,
                      fmt::format("no setting of {} or its preparation in which members can differ{}",
                                  family.name, did_you_mean(entry.key, known)));
  Variant variant = common;
  variant.spec.settings = checked_settings(family, varied(common.spec.settings, changes), path, diagnostics);
  if (!common.spec.is_solved()) {
    variant.spec.training = config::read<TrainingSettings>(
        varied(config::write(common.spec.training), changes), path, diagnostics);
    check(variant.spec.training, path, diagnostics);
  }
  // Names that a family has too, such as class_weight, are the family's.
  Value::Map of_preparation;
  for (const config::Entry& entry : changes)
    if (may_vary_in_preparation(entry.key)) of_preparation.push_back(entry);
  variant.preparation = config::read<PreparationConfig>(
      varied(config::write(common.preparation), of_preparation), path, diagnostics);
  return variant;
}

}  // namespace

std::string problem_of_variants(const Value& variants) {
  const auto* all = variants.get_if<Value::Map>();
  if (all == nullptr) return "";
  if (all->size() > most_variants)
    return fmt::format("{} variants are more than the maximum of {}", all->size(), most_variants);
  for (const config::Entry& each : *all)
    if (each.value.get_if<Value::Map>() == nullptr)
      return fmt::format("variant '{}' must be a map of settings, not {}", each.key, each.value.describe());
  return "";
}

std::vector<Variant> variants_of(const Variant& common, const EnsembleConfig& ensemble,
                                 const std::string& path, config::Diagnostics& diagnostics) {
  const auto* written = ensemble.variants.get_if<Value::Map>();
  if (written == nullptr || written->empty()) return {common};
  std::vector<Variant> variants;
  for (const config::Entry& each : *written)
    variants.push_back(
        variant_from(common, *each.value.get_if<Value::Map>(), path + "." + each.key, diagnostics));
  return variants;
}

std::vector<Variant> variants_of(const FitRequest& request) {
  config::Diagnostics diagnostics("");
  std::vector<Variant> variants = variants_of({request.spec, request.preparation}, request.config.ensemble,
                                              "ensemble.variants", diagnostics);
  diagnostics.refuse_if_any();
  return variants;
}

std::size_t variant_of_member(const EnsembleConfig& config, std::size_t member, std::size_t variants) {
  const auto folds = static_cast<std::size_t>(config.folds);
  return (member % folds + member / folds) % variants;
}

}  // namespace stoker
