#include "pipeline/run/rows_to_come.h"

#include <algorithm>
#include <iterator>

#include "pipeline/card/graph.h"

namespace stoker {
std::vector<Connection> tests_of_model(const Document& document, const std::set<std::string>& running,
                                       const std::string& training_card) {
  std::vector<Connection> tests;
  for (const Card& card : document.cards) {
    const Input* model = input_of_type(*card.kind, PortType::model);
    const Input* test = input_of_rows(*card.kind, Rows::tested_on);
    if (!running.contains(card.id) || model == nullptr || test == nullptr) continue;
    const auto models = connections_to(card, model->name);
    if (std::ranges::find(models, training_card, &Connection::card) == models.end()) continue;
    for (const Connection& each : connections_to(card, test->name)) tests.push_back(each);
  }
  return tests;
}

namespace {

std::vector<const Preparation*> preparations_given(const Card& card, const InputValues& inputs) {
  std::vector<const Preparation*> given;
  const Input* model = input_of_type(*card.kind, PortType::model);
  const auto models = model == nullptr ? inputs.end() : inputs.find(model->name);
  if (models == inputs.end()) return given;
  for (const PortValue& value : models->second)
    given.push_back(&std::get<std::shared_ptr<const Model>>(value)->preparation);
  return given;
}

Table with_learnt_dates(const Table& table, const DateForms& dates) {
  DateSettings settings;
  settings.learnt = dates;
  for (const std::string& name : table.column_names())
    if (!dates.contains(name)) settings.kept_as_text.push_back(name);
  return with_dates(table, settings, no_notes());
}

Table in_learnt_texts(const Table& table, const std::vector<std::string>& learnt_as_text,
                      const DateForms& dates, const Document& document, const Connection& connection,
                      const std::map<std::string, Outside>& outside) {
  std::vector<std::string> mistaken = columns_not_text(table, learnt_as_text);
  std::ranges::copy(columns_neither_text_nor_dates(table, dates), std::back_inserter(mistaken));
  if (mistaken.empty()) return table;
  const Card& reader = *way_of_rows(document, connection).front();
  if (reader.kind->read_as_text == nullptr) return table;  // they were made here
  const std::optional<Table> again = reader.kind->read_as_text(outside.at(reader.id), mistaken);
  if (!again) return table;
  if (!table.source_rows) return *again;
  Table part = take_rows(*again, table.source_rows->laid_out());
  part.group_column = table.group_column;
  return part;
}

}  // namespace

std::vector<std::string> columns_learnt_as_text(const Card& card, const InputValues& inputs) {
  std::vector<std::string> columns;
  for (const Preparation* preparation : preparations_given(card, inputs))
    for (std::string& name : preparation->text_columns())
      if (std::ranges::find(columns, name) == columns.end()) columns.push_back(std::move(name));
  return columns;
}

DateForms dates_learnt(const Card& card, const InputValues& inputs) {
  DateForms forms;
  for (const Preparation* preparation : preparations_given(card, inputs))
    forms.merge(preparation->date_forms());
  return forms;
}

std::vector<std::string> joined_names_learnt(const Card& card, const InputValues& inputs) {
  for (const Preparation* preparation : preparations_given(card, inputs))
    if (const WindowsConfig* windows = preparation->windows();
        windows && !windows->slower.slower_names.empty())
      return windows->slower.slower_names;
  return {};
}

Table in_learnt_types(const Table& table, const std::vector<std::string>& learnt_as_text,
                      const DateForms& dates, const Document& document, const Connection& connection,
                      const std::map<std::string, Outside>& outside) {
  const Table read = in_learnt_texts(table, learnt_as_text, dates, document, connection, outside);
  return dates.empty() ? read : with_learnt_dates(read, dates);
}

}  // namespace stoker
