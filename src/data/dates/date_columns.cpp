#include "data/dates/date_columns.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <arrow/array/builder_time.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/util/key_value_metadata.h>

#include "base/error.h"
#include "base/text/text.h"
#include "data/csv/missing_words.h"
#include "data/dates/date_form.h"
#include "data/memory/arrow_result.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

// With the column wherever its table goes, the cache included.
constexpr const char* form_key = "stoker.date_form";

struct DatesRead {
  std::vector<std::optional<DateTime>> moments;
  std::size_t dates = 0;
  std::size_t others = 0;
  std::size_t first_other = 0;
};

bool is_blank(const TextValues& texts, std::size_t row) {
  return texts.missing[row] != 0 || is_missing_word(texts.values[row]);
}

DatesRead read_dates(const TextValues& texts, const DateForm& form) {
  DatesRead read;
  read.moments.resize(texts.values.size());
  for (std::size_t row = 0; row < texts.values.size(); ++row) {
    if (is_blank(texts, row)) continue;
    read.moments[row] = form.parse(texts.values[row]);
    if (read.moments[row]) {
      ++read.dates;
    } else if (read.others++ == 0) {
      read.first_other = row;
    }
  }
  return read;
}

// Whole seconds where no value has a fraction; finer than a microsecond is cut off.
std::shared_ptr<arrow::Array> as_timestamps(const std::vector<std::optional<DateTime>>& moments) {
  const bool fine = std::any_of(moments.begin(), moments.end(),
                                [](const auto& moment) { return moment && moment->nanoseconds != 0; });
  arrow::TimestampBuilder builder(
      arrow::timestamp(fine ? arrow::TimeUnit::MICRO : arrow::TimeUnit::SECOND, "UTC"),
      arrow::default_memory_pool());
  or_fail(builder.Reserve(static_cast<std::int64_t>(moments.size())), "reading dates");
  for (const auto& moment : moments) {
    if (!moment) {
      builder.UnsafeAppendNull();
    } else {
      builder.UnsafeAppend(fine ? moment->seconds * 1'000'000 + moment->nanoseconds / 1'000
                                : moment->seconds);
    }
  }
  return or_fail(builder.Finish(), "reading dates");
}

void set_dates(Table& table, int position, const std::vector<std::optional<DateTime>>& moments,
               const std::string& form) {
  const auto values = as_timestamps(moments);
  const auto field = arrow::field(table.columns->field(position)->name(), values->type(), true,
                                  arrow::key_value_metadata({form_key}, {form}));
  table.columns = or_fail(
      table.columns->SetColumn(position, field, std::make_shared<arrow::ChunkedArray>(values)), "dates");
}

// A year and a month may as well be two numbers of something else, unless the year is one that people have
// series of.
bool is_likely(const DateForm& form, const std::optional<DateTime>& moment) {
  constexpr std::int64_t year_1600 = -11'676'096'000;
  constexpr std::int64_t year_2200 = 7'258'118'400;
  return moment && (form.tells_day() || (moment->seconds >= year_1600 && moment->seconds < year_2200));
}

// The usual forms that every value has; those of the first value are the only ones worth trying.
std::vector<const DateForm*> forms_of(const TextValues& texts) {
  constexpr std::size_t shortest = 6;
  constexpr std::size_t longest = 48;
  std::vector<const DateForm*> forms;
  bool is_first = true;
  for (std::size_t row = 0; row < texts.values.size(); ++row) {
    if (is_blank(texts, row)) continue;
    const std::string_view text = texts.values[row];
    if (text.size() < shortest || text.size() > longest) return {};
    if (is_first) {
      for (const DateForm& form : usual_date_forms()) forms.push_back(&form);
      is_first = false;
    }
    std::erase_if(forms, [&](const DateForm* form) { return !is_likely(*form, form->parse(text)); });
    if (forms.empty()) return {};
  }
  return forms;
}

void set_declared(Table& table, const std::string& name, const DateForm& form, const Notes& notes) {
  const int position = column_position(table, name);
  const auto column = table.columns->column(position);
  const ColumnKind kind = kind_of(*column->type());
  if (kind == ColumnKind::time || kind == ColumnKind::empty) return;
  if (kind == ColumnKind::unsupported)
    refuse("date_columns names '{}', whose type {} cannot be dates", name, column->type()->ToString());
  const TextValues texts = read_texts(column);
  const DatesRead read = read_dates(texts, form);
  if (read.dates == 0 && read.others > 0) {
    refuse("date_columns gives '{}' the form {}, but none of its {} has it; the first is '{}'", name,
           form.text(), counted(read.others, "value"), shortened(texts.values[read.first_other]));
  }
  if (read.others > 0) {
    notes(Severity::warning,
          fmt::format("column '{}': {} of {} values {} as missing; the first is '{}' in row {}", name,
                      read.others, read.dates + read.others,
                      read.others == 1 ? "is not a date in this form and counts"
                                       : "are not dates in this form and count",
                      shortened(texts.values[read.first_other]),
                      table.row_number(static_cast<std::int64_t>(read.first_other))));
  }
  set_dates(table, position, read.moments, form.text());
}

// True if all values have the form that the column's dates had in training.
bool set_learnt_dates(Table& table, int position, const TextValues& texts, const DateForms& learnt) {
  const auto known = learnt.find(table.columns->field(position)->name());
  if (known == learnt.end()) return false;
  const DateForm form(known->second);
  const DatesRead read = read_dates(texts, form);
  if (read.others == 0) set_dates(table, position, read.moments, form.text());
  return read.others == 0;
}

void find_dates(Table& table, int position, const DateForms& learnt, const Notes& notes) {
  const std::string name = table.columns->field(position)->name();
  const TextValues texts = read_texts(table.columns->column(position));
  if (set_learnt_dates(table, position, texts, learnt)) return;
  const std::vector<const DateForm*> forms = forms_of(texts);
  if (forms.empty()) return;
  const std::string& form = forms.front()->text();
  if (forms.size() > 1) {
    notes(Severity::warning,
          fmt::format("column '{}' holds dates, but nothing in it tells whether the day or the month comes "
                      "first, so it is kept as text; name its form in date_columns of data_load "
                      "(--date-columns '{}={}' or '{}={}')",
                      name, name, form, name, forms[1]->text()));
    return;
  }
  set_dates(table, position, read_dates(texts, *forms.front()).moments, form);
  notes(Severity::info, fmt::format("column '{}' holds dates in the form {}", name, form));
}

}  // namespace

Table with_dates(const Table& table, const DateSettings& settings, const Notes& notes) {
  Table result = table;
  for (const auto& [name, form] : settings.set) set_declared(result, name, DateForm(form), notes);
  for (int position = 0; position < result.columns->num_columns(); ++position) {
    const auto field = result.columns->field(position);
    const ColumnKind kind = kind_of(*field->type());
    const bool stays = settings.set.contains(field->name()) ||
                       std::ranges::find(settings.kept_as_text, field->name()) != settings.kept_as_text.end();
    if (stays) continue;
    if (kind == ColumnKind::text) {
      find_dates(result, position, settings.learnt, notes);
    } else if (kind == ColumnKind::integer && settings.learnt.contains(field->name())) {
      // 20190206 is an integer in a file whose columns have types.
      set_learnt_dates(result, position, read_texts(result.columns->column(position)), settings.learnt);
    }
  }
  return result;
}

std::optional<DateTime> moment_of_text(std::string_view text, const DateForm* learnt) {
  if (learnt != nullptr)
    if (const auto moment = learnt->parse(text)) return moment;
  TextValues alone;
  alone.values = {text};
  alone.missing = {0};
  const std::vector<const DateForm*> forms = forms_of(alone);
  return forms.size() == 1 ? forms.front()->parse(text) : std::nullopt;
}

std::vector<std::string> columns_neither_text_nor_dates(const Table& table, const DateForms& forms) {
  std::vector<std::string> names;
  for (const auto& [name, form] : forms) {
    const auto field = table.columns->schema()->GetFieldByName(name);
    if (!field) continue;
    const ColumnKind kind = kind_of(*field->type());
    if (kind != ColumnKind::text && kind != ColumnKind::time && kind != ColumnKind::empty)
      names.push_back(name);
  }
  return names;
}

namespace {

std::string kept_with(const Table& table, const std::string& column, const std::string& key) {
  const auto field = table.columns->schema()->GetFieldByName(column);
  if (!field || !field->metadata()) return "";
  return field->metadata()->Get(key).ValueOr("");
}

std::string key_of_form_beside(const std::string& left) {
  return fmt::format("{} {}", form_key, left);
}

}  // namespace

std::string date_form_of(const Table& table, const std::string& column) {
  return kept_with(table, column, form_key);
}

Table with_form_beside(const Table& table, const std::string& column, const std::string& left,
                       const std::string& form) {
  const int position = column_position(table, column);
  const auto field = table.columns->field(position)->WithMergedMetadata(
      arrow::key_value_metadata({key_of_form_beside(left)}, {form}));
  Table result = table;
  result.columns =
      or_fail(table.columns->SetColumn(position, field, table.columns->column(position)), "dates");
  return result;
}

std::string date_form_beside(const Table& table, const std::string& column, const std::string& left) {
  return kept_with(table, column, key_of_form_beside(left));
}

}  // namespace stoker
