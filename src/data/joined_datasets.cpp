#include "data/joined_datasets.h"

#include <algorithm>

#include <arrow/chunked_array.h>
#include <arrow/compute/api.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "data/arrow_result.h"
#include "data/column_values.h"
#include "data/kept_columns.h"

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
      if (each.source.fingerprint() != each.recorded_fingerprint)
        notes(
            Severity::warning,
            fmt::format("dataset {} has changed since it was put on record; look at it with: stoker datasets "
                        "validate {}",
                        each.id, each.id));
      names.push_back("dataset " + each.id);
      tables.push_back(each.source.read(text_columns, notes));
    }
    return joined_rows(tables, names);
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

}  // namespace

Table joined_rows(const std::vector<Table>& tables, const std::vector<std::string>& names) {
  if (tables.size() == 1) return tables.front();
  const arrow::FieldVector fields = joined_fields(tables, names);
  arrow::ChunkedArrayVector columns;
  std::int64_t rows = 0;
  for (const Table& table : tables) rows += table.rows();
  for (const auto& field : fields) {
    arrow::ArrayVector chunks;
    for (const Table& table : tables) {
      auto values = table.columns->column(column_position(table, field->name()));
      if (!values->type()->Equals(*field->type()))
        values = or_fail(arrow::compute::Cast(values, field->type()), "joining datasets").chunked_array();
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
  };
  return {SourceKind::datasets, open, check, datasets_name, {"dataset_ids"}};
}

}  // namespace stoker
