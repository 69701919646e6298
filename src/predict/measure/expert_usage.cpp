#include "predict/measure/expert_usage.h"

#include <algorithm>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "base/text/text.h"
#include "model/experts/expert_answers.h"
#include "model/experts/expert_shape.h"

namespace stoker {
namespace {

// Far fewer than a router that is level leaves to any expert, and far more than chance.
constexpr double smallest_share_of_even = 0.01;
constexpr std::size_t most_listed_experts = 64;

std::string list_of_rows(const std::vector<std::int64_t>& rows) {
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < std::min(rows.size(), most_listed_experts); ++i)
    numbers.push_back(human_count(static_cast<std::uint64_t>(rows[i])));
  if (rows.size() > most_listed_experts) numbers.push_back("…");
  return join(numbers, ", ");
}

double balance_of(const Model& model) {
  const auto shape = expert_shape(model.network);
  return shape ? shape->settings.load_balance : 0;
}

}  // namespace

std::vector<std::int64_t> rows_per_expert(const Model& model, const Table& table) {
  const auto shape = expert_shape(model.network);
  if (!shape || model.is_ensemble() || table.rows() == 0) return {};
  const Dataset data = model.preparation.apply(table, DType::float32, false);
  const ExpertRoutes routes = expert_routes(*shape, model.parameters, data.features());
  std::vector<std::int64_t> by_place(static_cast<std::size_t>(shape->room()));
  for (const std::int32_t place : routes.chosen) ++by_place.at(static_cast<std::size_t>(place));
  const std::span<const float> alive = find_array(model.parameters, alive_name).as<float>();
  std::vector<std::int64_t> rows;
  for (std::size_t place = 0; place < by_place.size(); ++place)
    if (alive[place] != 0) rows.push_back(by_place[place]);
  return rows;
}

std::string unused_experts_warning(const std::vector<std::int64_t>& rows, double load_balance) {
  if (rows.empty()) return "";
  const auto even = std::accumulate(rows.begin(), rows.end(), 0.0) / static_cast<double>(rows.size());
  const auto without = std::ranges::count(rows, 0);
  const auto few = std::ranges::count_if(rows, [&](std::int64_t each) {
    return each > 0 && static_cast<double>(each) < smallest_share_of_even * even;
  });
  if (without + few == 0) return "";
  std::vector<std::string> found;
  if (without > 0) found.push_back(fmt::format("{} without rows", without));
  if (few > 0) found.push_back(fmt::format("{} with less than 1 % of an even share", few));
  return fmt::format(
      "of {}, the router leaves {} (rows per expert: {}); load_balance ({:g} here) keeps experts equally "
      "busy",
      counted(rows.size(), "expert"), join(found, " and "), list_of_rows(rows), load_balance);
}

std::string unused_experts_warning(const Model& model, const Table& table) {
  if (!model.is_ensemble()) return unused_experts_warning(rows_per_expert(model, table), balance_of(model));
  std::size_t members = 0;
  std::string first;
  for (const Model& member : model.members) {
    const std::string warning = unused_experts_warning(rows_per_expert(member, table), balance_of(member));
    if (warning.empty()) continue;
    if (++members == 1) first = warning;
  }
  if (members == 0) return "";
  return fmt::format("{} of {} members have unused experts; the first: {}", members, model.members.size(),
                     first);
}

}  // namespace stoker
