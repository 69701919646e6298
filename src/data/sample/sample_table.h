#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/table.h>

#include "data/memory/arrow_result.h"
#include "data/table/table.h"

// For the .cpp files that make samples.
namespace stoker {

class SampleTable {
 public:
  void add(const std::string& name, const std::vector<double>& values) {
    arrow::DoubleBuilder builder;
    or_fail(builder.AppendValues(values), "making a sample");
    add(name, or_fail(builder.Finish(), "making a sample"));
  }
  void add(const std::string& name, const std::vector<std::int64_t>& values) {
    arrow::Int64Builder builder;
    or_fail(builder.AppendValues(values), "making a sample");
    add(name, or_fail(builder.Finish(), "making a sample"));
  }
  void add(const std::string& name, const std::vector<std::string>& values) {
    arrow::StringBuilder builder;
    or_fail(builder.AppendValues(values), "making a sample");
    add(name, or_fail(builder.Finish(), "making a sample"));
  }
  // Seconds since 1970, in UTC.
  void add_times(const std::string& name, const std::vector<std::int64_t>& seconds) {
    arrow::TimestampBuilder builder(arrow::timestamp(arrow::TimeUnit::SECOND, "UTC"),
                                    arrow::default_memory_pool());
    or_fail(builder.AppendValues(seconds), "making a sample");
    add(name, or_fail(builder.Finish(), "making a sample"));
  }
  Table finish() { return {arrow::Table::Make(arrow::schema(fields_), columns_)}; }

 private:
  void add(const std::string& name, std::shared_ptr<arrow::Array> array) {
    fields_.push_back(arrow::field(name, array->type()));
    columns_.push_back(std::move(array));
  }
  arrow::FieldVector fields_;
  arrow::ArrayVector columns_;
};

}  // namespace stoker
