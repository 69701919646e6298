#include "predict/measure/gaps.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include <arrow/table.h>
#include <fmt/format.h>

#include "base/text/human_number.h"
#include "base/text/text.h"
#include "data/dates/date_text.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

ColumnGaps gaps_of_texts(const PreparedColumn& column, const Table& table) {
  const std::unordered_set<std::string_view> known(column.categories.begin(), column.categories.end());
  const TextValues texts = read_texts(table.column(column.name));
  ColumnGaps gaps{column.name};
  for (std::size_t row = 0; row < texts.values.size(); ++row) {
    if (texts.missing[row] != 0) {
      ++gaps.missing;
    } else if (!known.contains(texts.values[row])) {
      ++gaps.unseen;
    }
  }
  return gaps;
}

ColumnGaps gaps_of_numbers(const PreparedColumn& column, const Table& table) {
  const auto values = table.column(column.name);
  ColumnGaps gaps{column.name, count_missing(*values)};
  const auto range = range_of(column);
  if (!range) return gaps;
  gaps.range = *range;
  each_block(*values, [&](std::span<const double> numbers) {
    gaps.outside += std::ranges::count_if(numbers, [&](double number) { return range->is_far_from(number); });
  });
  return gaps;
}

std::string end_text(const NumberRange& range, double end) {
  return range.are_dates ? date_text(end) : human_number(end);
}

}  // namespace

std::vector<ColumnGaps> gaps_in(const Table& table, const Preparation& preparation) {
  std::vector<ColumnGaps> all;
  std::unordered_set<std::string_view> looked_at;
  for (const PreparedColumn& column : preparation.columns()) {
    if (!looked_at.insert(column.name).second) continue;
    const ColumnGaps gaps = column.kind == PreparedColumn::Kind::number ? gaps_of_numbers(column, table)
                                                                        : gaps_of_texts(column, table);
    if (gaps.has_any()) all.push_back(gaps);
  }
  return all;
}

std::string gaps_text(const std::vector<ColumnGaps>& gaps) {
  constexpr std::size_t most_named = 10;
  std::vector<std::string> filled;
  std::vector<std::string> unseen;
  std::vector<std::string> outside;
  const auto add = [](std::vector<std::string>& list, std::int64_t count, const std::string& column) {
    if (count > 0)
      list.push_back(
          fmt::format("{} in '{}'", human_count(static_cast<std::uint64_t>(count)), column.substr(0, 100)));
  };
  for (const ColumnGaps& each : gaps) {
    add(filled, each.missing, each.column);
    add(unseen, each.unseen, each.column);
    add(outside, each.outside, each.column);
    if (each.outside > 0)
      outside.back() += fmt::format(" ({} to {})", end_text(each.range, each.range.low),
                                    end_text(each.range, each.range.high));
  }
  const auto named = [](std::vector<std::string> list) {
    const std::size_t more = list.size() > most_named ? list.size() - most_named : 0;
    list.resize(list.size() - more);
    if (more > 0) list.push_back(fmt::format("more in {}", counted(more, "other column")));
    return join(list, ", ");
  };
  std::vector<std::string> sentences;
  if (!filled.empty()) sentences.push_back("missing values were filled in: " + named(filled));
  if (!unseen.empty())
    sentences.push_back("values that training had not seen, or only once: " + named(unseen));
  if (!outside.empty()) sentences.push_back("values far from those of training: " + named(outside));
  return join(sentences, "; ");
}

std::vector<std::string> columns_not_read(const Table& table, const Model& model) {
  std::unordered_set<std::string> read;
  for (const Model& member : members_of(model)) {
    if (member.preparation.windows() != nullptr || member.preparation.set() != nullptr) return {};
    for (std::string& name : member.preparation.column_names()) read.insert(std::move(name));
  }
  std::vector<std::string> others = table.column_names();
  std::erase_if(others, [&](const std::string& name) { return read.contains(name); });
  return others;
}

std::string text_of_not_read(const std::vector<std::string>& columns) {
  return fmt::format("the model reads no column of these names: {}", join(columns, ", "));
}

}  // namespace stoker
