#include "data/source/joined_datasets.h"

#include <algorithm>
#include <array>
#include <utility>

#include <arrow/chunked_array.h>
#include <arrow/compute/api.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "data/cubes/cubes.h"
#include "data/memory/arrow_result.h"
#include "data/memory/kept_columns.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

std::string datasets_name(const SourceConfig& config) {
  return (config.dataset_ids.size() == 1 ? "dataset " : "datasets ") + join(config.dataset_ids, ", ");
}

class JoinedReader : public SourceReader {
 public:
  explicit JoinedReader(std::vector<OpenedDataset> datasets) : datasets_(std::move(datasets)) {
    std::vector<std::string> ids;
    for (const OpenedDataset& each : datasets_) ids.push_back(each.id);
    description_ = (ids.size() == 1 ? "dataset " : "datasets ") + join(ids, ", ");
  }

  std::string fingerprint() const override {
    std::string all;
    for (const OpenedDataset& each : datasets_) all += each.source.fingerprint() + " " + each.reading + "\n";
    return sha256_of_text(all);
  }
  const std::string& description() const override { return description_; }
  std::uintmax_t bytes() const override {
    std::uintmax_t sum = 0;
    for (const OpenedDataset& each : datasets_) sum += each.source.bytes();
    return sum;
  }
  bool infers_types() const override {
    return std::ranges::any_of(datasets_,
                               [](const OpenedDataset& each) { return each.source.infers_types(); });
  }
  void leave_rows() const override {
    for (const OpenedDataset& each : datasets_) each.source.leave_rows();
  }
  Table read(const std::vector<std::string>& text_columns, const Notes& notes) const override {
    std::vector<Table> tables;
    std::vector<std::string> names;
    for (const OpenedDataset& each : datasets_) {
      names.push_back("dataset " + each.id);
      tables.push_back(each.source.read(text_columns, notes));
    }
    return joined_rows(tables, names);
  }
  // The rows may be kept from a time when the record was another, so this is asked of each run anew.
  std::vector<std::string> warnings() const override {
    std::vector<std::string> changed;
    for (const OpenedDataset& each : datasets_)
      if (each.source.fingerprint() != each.recorded_fingerprint)
        changed.push_back(
            fmt::format("dataset {} has changed since it was put on record; look at it with: stoker datasets "
                        "validate {}",
                        each.id, each.id));
    return changed;
  }
  std::optional<Table> first_rows(const std::vector<std::string>&) const override {
    return datasets_.front().source.first_rows();
  }

 private:
  std::vector<OpenedDataset> datasets_;
  std::string description_;
};

bool is_number_type(const arrow::DataType& type) {
  const ColumnKind kind = kind_of(type);
  return kind == ColumnKind::integer || kind == ColumnKind::real;
}

// The type that holds the values of both; none where there is no such.
std::shared_ptr<arrow::DataType> type_of_both(const std::shared_ptr<arrow::DataType>& one,
                                              const std::shared_ptr<arrow::DataType>& other) {
  if (one->Equals(*other)) return one;
  if (one->id() == arrow::Type::NA) return other;
  if (other->id() == arrow::Type::NA) return one;
  return is_number_type(*one) && is_number_type(*other) ? arrow::float64() : nullptr;
}

void refuse_other_names(const Table& first, const std::string& name, const Table& other,
                        const std::string& other_name) {
  const std::vector<std::string> names = first.column_names();
  const std::vector<std::string> others = other.column_names();
  for (const std::string& each : names)
    if (!other.has_column(each))
      refuse("{} has no column '{}', which {} has{}", other_name, each, name, did_you_mean(each, others));
  for (const std::string& each : others)
    if (!first.has_column(each))
      refuse("{} has a column '{}', which {} does not have{}", other_name, each, name,
             did_you_mean(each, names));
}

// Of every column the type that holds the values of all tables.
arrow::FieldVector joined_fields(const std::vector<Table>& tables, const std::vector<std::string>& names) {
  arrow::FieldVector fields = tables.front().columns->schema()->fields();
  for (std::size_t t = 1; t < tables.size(); ++t) {
    refuse_other_names(tables.front(), names.front(), tables[t], names[t]);
    for (auto& field : fields) {
      const auto other = tables[t].columns->schema()->GetFieldByName(field->name())->type();
      const auto both = type_of_both(field->type(), other);
      if (both == nullptr)
        refuse("column '{}' holds {} in {} and {} in {}; their columns must be the same", field->name(),
               field->type()->ToString(), names.front(), other->ToString(), names[t]);
      field = field->WithType(both);
    }
  }
  return fields;
}

// How a file is read stands in the record of its dataset; types may still be chosen for what comes of it.
void refuse_other_reading(const SourceConfig& config, SourceProblems& problems) {
  const SourceConfig usual;
  const std::array<std::pair<const char*, bool>, 9> given{{{"path", !config.path.empty()},
                                                           {"url", !config.url.empty()},
                                                           {"sample_rows", config.sample_rows.has_value()},
                                                           {"format", config.format != usual.format},
                                                           {"delimiter", !config.delimiter.empty()},
                                                           {"decimal", config.decimal != usual.decimal},
                                                           {"thousands", config.thousands != usual.thousands},
                                                           {"header", config.header != usual.header},
                                                           {"missing_words", !config.missing_words.empty()}}};
  for (const auto& [name, is_given] : given)
    if (is_given)
      problems.push_back({name,
                          "a dataset is read as its record says; put it on record with this setting (stoker "
                          "datasets add), and leave it out here"});
}

// Whole numbers that stand beside real ones become such, which hold them exactly up to 2^53.
std::shared_ptr<arrow::ChunkedArray> in_joined_type(const std::shared_ptr<arrow::ChunkedArray>& values,
                                                    const arrow::Field& field, const std::string& name) {
  const auto converted = arrow::compute::Cast(values, field.type());
  fail_for_machine(converted.status(), "joining datasets");
  if (!converted.ok())
    refuse(
        "column '{}' of {} has whole numbers beyond 9007199254740992 (2^53), which would not stay the same "
        "among the real numbers that another dataset has in it; read it as text in all of them "
        "(--text-columns {}, or text_columns), or give it one type in their files",
        field.name(), name, field.name());
  return converted->chunked_array();
}

}  // namespace

Table joined_rows(const std::vector<Table>& tables, const std::vector<std::string>& names) {
  if (tables.size() == 1) return tables.front();
  for (std::size_t t = 0; t < tables.size(); ++t)
    refuse_cubes(tables[t], fmt::format("{} is read together with others", names[t]));
  const arrow::FieldVector fields = joined_fields(tables, names);
  arrow::ChunkedArrayVector columns;
  std::int64_t rows = 0;
  for (const Table& table : tables) rows += table.rows();
  for (const auto& field : fields) {
    arrow::ArrayVector chunks;
    for (const Table& table : tables) {
      auto values = table.columns->column(column_position(table, field->name()));
      if (!values->type()->Equals(*field->type()))
        values = in_joined_type(values, *field, names[static_cast<std::size_t>(&table - tables.data())]);
      std::ranges::copy(values->chunks(), std::back_inserter(chunks));
    }
    columns.push_back(std::make_shared<arrow::ChunkedArray>(std::move(chunks), field->type()));
  }
  return {arrow::Table::Make(arrow::schema(fields), std::move(columns), rows)};
}

OpenedSource joined_datasets(std::vector<OpenedDataset> datasets) {
  return std::make_unique<JoinedReader>(std::move(datasets));
}

SourceOfKind datasets_source() {
  const auto open = [](const SourceConfig&, const std::filesystem::path&, const StopSignal*) -> OpenedSource {
    fail("datasets on record were opened without their record");
  };
  const auto check = [](const SourceConfig& config, SourceProblems& problems) {
    if (config.dataset_ids.empty())
      problems.push_back({"dataset_ids", "missing; source datasets needs the ids of one or more datasets"});
    refuse_other_reading(config, problems);
  };
  return {SourceKind::datasets, open, check, datasets_name, {"dataset_ids"}};
}

}  // namespace stoker
