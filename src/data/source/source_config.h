#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "config/field.h"
#include "config/usual_bounds.h"
#include "data/csv/csv_dialect.h"
#include "data/sample/samples.h"

namespace stoker {

enum class SourceKind { sample, csv, file, url, postgres, sqlite, hdf5, cubes, datasets };
// What becomes of a column that holds an array in each row.
enum class ArrayChoice { columns, keep };
// What is done to the numbers of a cube that says by which factor they are reflectances.
enum class CubeProcessing { reflectance, raw };
enum class SourceFormat { automatic, csv, tsv, parquet, arrow, npy, jsonl, arff, idx };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 9> stoker::config::names<stoker::SourceKind>{
    "sample", "csv", "file", "url", "postgres", "sqlite", "hdf5", "cubes", "datasets"};
template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::ArrayChoice>{"columns",
                                                                                            "keep"};
template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::CubeProcessing>{"reflectance",
                                                                                               "raw"};
template <>
inline constexpr std::array<std::string_view, 9> stoker::config::names<stoker::SourceFormat>{
    "auto", "csv", "tsv", "parquet", "arrow", "npy", "jsonl", "arff", "idx"};

namespace stoker {

struct SourceConfig {
  SourceKind source = SourceKind::csv;
  std::string path;
  std::string url;
  SampleName sample_name = SampleName::boston_housing;
  std::optional<std::int64_t> sample_rows;
  std::uint64_t sample_seed = 42;
  SourceFormat format = SourceFormat::automatic;
  std::string delimiter;  // empty: found
  DecimalMark decimal = DecimalMark::automatic;
  ThousandsMark thousands = ThousandsMark::automatic;
  HeaderChoice header = HeaderChoice::automatic;
  std::vector<std::string> missing_words;
  std::vector<std::string> text_columns;
  std::vector<std::string> number_columns;
  config::Value date_columns;  // a map of texts
  double url_timeout = 60;
  double url_max_megabytes = 1024;
  std::string uri;
  std::string table;
  std::string query;
  std::vector<std::string> columns;
  std::string where;
  std::optional<std::int64_t> partitions;
  std::string partition_column;
  std::vector<std::string> datasets;
  ArrayChoice arrays = ArrayChoice::columns;
  std::string refresh = "always";
  std::string refresh_query;
  std::vector<std::string> dataset_ids;
  std::string cube_key;
  std::string mask_path;
  std::string mask_key;
  std::vector<double> wavelengths;
  CubeProcessing processing = CubeProcessing::reflectance;
  bool follow_external = false;
};

// "Reflectance" as others write it.
inline std::optional<config::Value> lower_case_text(const config::Value& given) {
  const auto* text = given.get_if<std::string>();
  return text == nullptr ? given : config::Value(lower_case(*text));
}

inline config::Fields fields(SourceConfig& c) {
  return {
      config::field(
          "source", c.source,
          "Where the rows come from: a built-in sample, a file (csv is the same as file), a URL, a database, "
          "datasets of an HDF5 file, hyperspectral cubes, or datasets on record (stoker datasets)"),
      config::field(
          "path", c.path,
          "File to read: csv, tsv, jsonl, arff (also .gz, .zst and .bz2), parquet, arrow/feather, "
          "npy, or a zip of one of them, images in idx form (their labels and rows to test with are found "
          "beside them); - is standard input. Of sqlite and hdf5, their file. Of cubes: an ENVI header, npy, "
          "npz "
          "or HDF5, a folder of such files, or a list of them (csv or txt: in each line a cube and, where "
          "it has one, its mask). Relative to the document")
          .optional()
          .also_called("cu3s_file_path", "called path here, with source: cubes"),
      config::field("url", c.url, "http or https address of such a file").optional(),
      config::field("sample_name", c.sample_name, "Built-in sample"),
      config::field("sample_rows", c.sample_rows, "Rows of the sample; its usual size if not set")
          .within(1, 100'000'000),
      config::field("sample_seed", c.sample_seed, "Seed of the sample"),
      config::field("format", c.format,
                    "Format of the file; auto infers it from the file's extension or content"),
      config::field("delimiter", c.delimiter,
                    "Character between the values of a csv file, or blanks for any number of them; not set: "
                    "what the start of the file shows, of , ; | tab and blanks")
          .optional(),
      config::field(
          "decimal", c.decimal,
          "What stands before the fraction of numbers in a csv file; auto: as the start of the file "
          "shows, a point when in doubt"),
      config::field("thousands", c.thousands,
                    "What stands between the thousands of numbers in a csv file; auto: as the start of the "
                    "file shows, none when in doubt"),
      config::field(
          "header", c.header,
          "Whether the first row of a csv file has the names of the columns; without it they are "
          "c0, c1, …; auto: yes, unless it has numbers where the rows below have them, or words that "
          "stand again below it"),
      config::field(
          "missing_words", c.missing_words,
          "Words (or numbers such as -999) of a csv file that count as missing in all columns. Among "
          "numbers and dates the usual ones do anyway: ? - NA n/a null . and the like")
          .optional(),
      config::field("text_columns", c.text_columns,
                    "Columns to keep as text, even if all their values look like numbers, booleans or dates")
          .optional(),
      config::field("number_columns", c.number_columns,
                    "Columns to read as numbers; other values count as missing")
          .optional(),
      config::field(
          "date_columns", c.date_columns,
          "Columns to read as dates, each with its form, such as {sold: \"%d/%m/%Y\"}; other values "
          "count as missing. Dates in usual forms are found without it"),
      config::field("url_timeout", c.url_timeout, "Seconds a download may take")
          .above(0)
          .within(0, config::most_seconds),
      config::field("url_max_megabytes", c.url_max_megabytes, "Size at which a download is refused")
          .above(0)
          .within(0, 1e9),
      config::field(
          "uri", c.uri,
          "Address of a PostgreSQL database, best as ${DATABASE_URL}: the environment variable is read "
          "when the connection is made and kept nowhere; not set: libpq's own variables (PGHOST, "
          "PGDATABASE, PGUSER, …)")
          .optional(),
      config::field("table", c.table,
                    "Table or view of the database to read; of sqlite, the only one if not set")
          .optional(),
      config::field("query", c.query, "One SELECT, whose rows are read instead of a table's").optional(),
      config::field("columns", c.columns, "Columns of the table or the query to read; all if not set")
          .optional(),
      config::field("where", c.where, "Condition of SQL, for the rows to read").optional(),
      config::field(
          "partitions", c.partitions,
          "Connections that read a part of the rows each, all in the same state of the database; not "
          "set: up to 4 for a large table. Their number does not change the order of a table's rows")
          .within(1, 64),
      config::field("partition_column", c.partition_column,
                    "Column of whole numbers by whose ranges partitions divide the rows of a query or a view")
          .optional(),
      config::field(
          "datasets", c.datasets,
          "Datasets of the HDF5 file, such as /train/x, one behind the other as columns; not set: all "
          "in its root that have the same number of rows")
          .optional(),
      config::field(
          "arrays", c.arrays,
          "What becomes of arrays in the rows of a database and of datasets with several dimensions: "
          "a column for each of their numbers (x_0, x_1, …), or arrays of one shape as they are"),
      config::field(
          "refresh", c.refresh,
          "When the rows of a database or a URL are read again: always (at every run), never (while the "
          "cache has them), or after an age such as 90s, 15min, 2h, 1d"),
      config::field("refresh_query", c.refresh_query,
                    "One SELECT that is quickly answered, such as SELECT max(updated_at) FROM wells: the "
                    "rows are read again when its answer is another than before they were read")
          .optional(),
      config::field(
          "dataset_ids", c.dataset_ids,
          "Datasets on record, of source: datasets; of several, the rows of one behind those of the "
          "other, which must have the same columns")
          .optional(),
      config::field(
          "cube_key", c.cube_key,
          "Array of an npz file, or dataset or group of an HDF5 file, that holds the cubes; not set: "
          "the one that has four dimensions, or all that have three")
          .optional(),
      config::field("mask_path", c.mask_path,
                    "Masks of the cubes: an npy file, one band in ENVI form, COCO JSON (polygons and run "
                    "lengths; the id of a category is its class), or a folder with a file for each cube. "
                    "Relative to the document; not set: NAME_mask beside the cube, where it is there")
          .optional()
          .also_called("annotation_json_path", "called mask_path here"),
      config::field("mask_key", c.mask_key,
                    "Array of the npz or HDF5 file that holds the masks; not set: the one called mask or "
                    "masks, where it is there")
          .optional(),
      config::field("wavelengths", c.wavelengths,
                    "Wavelengths of the channels in nm, for cubes whose files do not tell them; they replace "
                    "those that are told")
          .within(0, config::longest_wavelength)
          .optional(),
      config::field("processing", c.processing,
                    "Of cubes in ENVI form: reflectance divides the numbers by the factor that the header "
                    "gives, where there is one; raw leaves them as they are stored")
          .also_called("processing_mode", "called processing here", lower_case_text),
      config::field("follow_external", c.follow_external,
                    "Whether an HDF5 file may take values from other files: external storage, external links "
                    "and virtual datasets. Only for files that you trust"),
  };
}

// Rows of a source, and from which one on they are to test with, where it says that.
struct RowCount {
  std::int64_t rows = 0;
  std::optional<std::int64_t> first_test_row = {};
};

// A setting that cannot be, and why.
struct SettingProblem {
  std::string setting;
  std::string problem;
};

}  // namespace stoker
