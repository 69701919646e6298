#include "cli/bench/bench_sources.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/process/shared_library.h"
#include "base/random.h"
#include "base/text/text.h"
#include "data/format/hdf5_library.h"
#include "data/sample/samples.h"
#include "data/source/source.h"
#include "data/table/table_to_database.h"
#include "data/url/url_secrets.h"
#include "database/writable.h"

namespace stoker::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* table_name = "stoker_bench_load";
constexpr const char* table_mark = "rows of stoker bench load";

std::vector<std::string> column_names(std::int64_t columns) {
  std::vector<std::string> names;
  for (std::int64_t c = 0; c < columns; ++c) names.push_back(fmt::format("c{}", c));
  return names;
}

// One dataset of 32-bit floats, [rows, columns], as arrays are usually kept.
void write_hdf5(const fs::path& file, std::int64_t rows, std::int64_t columns) {
  using hdf5::Id;
  using hdf5::Size;
  const SharedLibrary library({"libhdf5_serial.so.103", "libhdf5_serial.so.310", "libhdf5.so.103",
                               "libhdf5.so.200", "libhdf5.so.310", "libhdf5.so"},
                              "bench load --format hdf5", "libhdf5-103-1");
  Id (*make_file)(const char*, unsigned, Id, Id) = nullptr;
  Id (*make_space)(int, const Size*, const Size*) = nullptr;
  Id (*make_dataset)(Id, const char*, Id, Id, Id, Id, Id) = nullptr;
  int (*write)(Id, Id, Id, Id, Id, const void*) = nullptr;
  library.find("H5Fcreate", make_file);
  library.find("H5Screate_simple", make_space);
  library.find("H5Dcreate2", make_dataset);
  library.find("H5Dwrite", write);
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  const RandomKey key = random_key(42, Purpose::sample, 3);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(uniform(key, static_cast<std::uint32_t>(i)));
  const hdf5::Library& h5 = hdf5::library();
  const std::vector<Size> sizes{static_cast<Size>(rows), static_cast<Size>(columns)};
  const Id opened = make_file(file.c_str(), 2, 0, 0);  // H5F_ACC_TRUNC
  const Id space = make_space(2, sizes.data(), nullptr);
  const Id dataset = make_dataset(opened, "c", h5.native_float, space, 0, 0, 0);
  if (write(dataset, h5.native_float, 0, 0, 0, values.data()) < 0)
    fail("'{}' cannot be written", file.string());
  h5.close_object(dataset);
  h5.close_space(space);
  h5.close_file(opened);
}

void write_sqlite_table(const fs::path& file, std::int64_t rows, std::int64_t columns) {
  const auto database = database::write_sqlite(file);
  database::Transaction all(*database);
  write_to_database(make_numbers(rows, columns), *database, table_name, "stoker bench load");
  all.commit();
}

// A table of that name that this program has not made is somebody's.
void drop_own_table(database::WritableDatabase& database) {
  if (!database.has_table(table_name)) return;
  const auto mark = database.run("SELECT obj_description(to_regclass(quote_ident($1)), 'pg_class')",
                                 {{std::string(table_name)}});
  if (mark.at(0).at(0) != table_mark)
    refuse(
        "the database has a table {} that this program did not make; remove it (DROP TABLE {}), or name "
        "another database with --uri",
        table_name, table_name);
  database.run(fmt::format("DROP TABLE {}", table_name));
}

// The server makes the rows itself; the key is what a query for a batch looks for.
void fill_postgres_table(const std::string& uri, std::int64_t rows, std::int64_t columns) {
  const auto database = database::write_postgres(expanded_uri(uri, "--uri"), "--uri");
  {
    database::Transaction all(*database);
    drop_own_table(*database);
    std::string values;
    for (std::int64_t c = 0; c < columns; ++c)
      values += fmt::format(", (random() * 200 - 100)::real AS c{}", c);
    database->run(fmt::format("CREATE TABLE {} AS SELECT i::integer AS id{} FROM generate_series(1, {}) AS i",
                              table_name, values, rows));
    database->run(fmt::format("ALTER TABLE {} ADD PRIMARY KEY (id)", table_name));
    database->run(fmt::format("COMMENT ON TABLE {} IS '{}'", table_name, table_mark));
    all.commit();
  }
  // Before the first reader would do it, and take its time for it.
  database->run(fmt::format("VACUUM ANALYZE {}", table_name));
}

}  // namespace

const std::vector<std::string>& load_formats() {
  static const std::vector<std::string> formats{"csv", "parquet", "arrow", "hdf5", "sqlite", "postgres"};
  return formats;
}

BenchSource bench_source(const std::string& format, std::int64_t columns, const fs::path& folder,
                         const std::string& uri) {
  BenchSource source;
  source.target = format == "hdf5" ? "c_0" : "c0";
  if (format == "postgres") {
    source.config.source = SourceKind::postgres;
    source.config.uri = uri;
    source.config.table = table_name;
    source.config.columns = column_names(columns);
    source.peers = "load_postgres";
    source.peer_arguments = {"--uri", uri, "--table", table_name, "--columns", fmt::format("{}", columns)};
    for (const SettingProblem& problem : problems_with(source.config))
      refuse("--{}: {}", problem.setting, problem.problem);
    expanded_uri(uri);
    return source;
  }
  const std::string file = (folder / ("rows." + format)).string();
  source.config.path = file;
  source.config.source = format == "sqlite" ? SourceKind::sqlite
                         : format == "hdf5" ? SourceKind::hdf5
                                            : SourceKind::file;
  source.peers = format == "sqlite" ? "load_sqlite" : "load_files";
  source.peer_arguments = {"--file", file};
  return source;
}

void fill(const BenchSource& source, std::int64_t rows, std::int64_t columns) {
  switch (source.config.source) {
    case SourceKind::postgres:
      return fill_postgres_table(source.config.uri, rows, columns);
    case SourceKind::sqlite:
      return write_sqlite_table(source.config.path, rows, columns);
    case SourceKind::hdf5:
      return write_hdf5(source.config.path, rows, columns);
    default:
      return write_table(make_numbers(rows, columns), source.config.path);
  }
}

void clear(const BenchSource& source) {
  if (source.config.source != SourceKind::postgres) return;
  drop_own_table(*database::write_postgres(expanded_uri(source.config.uri, "--uri"), "--uri"));
}

}  // namespace stoker::cli
