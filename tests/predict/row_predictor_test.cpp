#include "predict/rows/row_predictor.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "data/source/source.h"
#include "model/example_models.h"
#include "predict/rows/predictions_json.h"

namespace stoker {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> columns_of_sales{"area", "rooms", "town", "sold", "new", "price"};

// Numbers, texts, dates and truths, some of each missing.
std::vector<std::vector<std::string>> sales() {
  const std::vector<std::string> towns{"Ulm", "Bonn", "Köln", "007", "Jena"};
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < 240; ++i) {
    rows.push_back(
        {i % 11 == 3 ? "" : fmt::format("{:.2f}", 40 + 1.7 * (i % 83)), fmt::format("{}", 1 + i % 6),
         i % 17 == 5 ? "" : towns[static_cast<std::size_t>(i * i % 5)],
         i % 13 == 7 ? "" : fmt::format("{:02d}/{:02d}/20{:02d}", 1 + i % 28, 1 + i % 12, 10 + i % 9),
         i % 19 == 2  ? ""
         : i % 3 == 0 ? "true"
                      : "false",
         fmt::format("{:.1f}", 100 + 3.3 * (i % 71))});
  }
  return rows;
}

Table table_of_sales() {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "sales.csv";
  {
    std::ofstream out(file);
    out << fmt::format("{}\n", fmt::join(columns_of_sales, ","));
    for (const auto& row : sales()) out << fmt::format("{}\n", fmt::join(row, ","));
  }
  SourceConfig config;
  config.path = file.string();
  config.text_columns = {"town"};
  return Source::open(config, folder.path()).read();
}

Model network_of_sales(const PreparationConfig& preparing, const std::string& target) {
  PreparationConfig config = preparing;
  config.target_column = target;
  const Family& family = family_named("neural_network");
  config::Diagnostics diagnostics("settings");
  const config::Value settings =
      checked_settings(family, config::Value(config::Value::Map{}), "", diagnostics);
  Model model;
  model.preparation = Preparation::fit(table_of_sales(), config, form_of(family, settings), no_notes());
  model.network = network_for(family, settings, model.preparation);
  model.parameters = initial_parameters(model.network, 3);
  return model;
}

// A row as a program would send it.
std::vector<Cell> cells_of(const std::vector<std::string>& row, const std::vector<std::string>& columns) {
  std::vector<Cell> cells;
  for (const std::string& name : columns) {
    const auto at = std::ranges::find(columns_of_sales, name) - columns_of_sales.begin();
    const std::string& text = row.at(static_cast<std::size_t>(at));
    Cell cell;
    if (!text.empty() && (name == "town" || name == "sold")) {
      cell.kind = Cell::Kind::text;
      cell.text = text;
    } else if (name == "new" && !text.empty()) {
      cell = {Cell::Kind::truth, text == "true" ? 1.0 : 0.0};
    } else if (!text.empty()) {
      cell = {Cell::Kind::number, std::stod(text)};
    }
    cells.push_back(cell);
  }
  return cells;
}

void expect_the_same(const Predictions& quick, const Predictions& usual, const std::string& what) {
  EXPECT_EQ(quick.values, usual.values) << what;
  EXPECT_EQ(quick.classes, usual.classes) << what;
  EXPECT_EQ(quick.probabilities, usual.probabilities) << what;
}

void expect_as_a_table(Model model, const std::string& what) {
  const RowPredictor predictor(std::make_shared<const Model>(std::move(model)));
  const auto rows = sales();
  const Table table = table_of_sales();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::vector<Cell> cells = cells_of(rows[row], predictor.columns());
    const Table alone = take_rows(table, {static_cast<std::int64_t>(row)});
    expect_the_same(predictor.predict(cells), predict(predictor.model(), alone),
                    fmt::format("{}, row {}", what, row));
    const auto gaps = predictor.gaps(cells);
    const auto of_table = gaps_in(alone, predictor.model().preparation);
    ASSERT_EQ(gaps.size(), of_table.size()) << what << row;
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      EXPECT_EQ(gaps[i].column, of_table[i].column);
      EXPECT_EQ(gaps[i].missing, of_table[i].missing);
      EXPECT_EQ(gaps[i].unseen, of_table[i].unseen);
      EXPECT_EQ(gaps[i].outside, of_table[i].outside);
      EXPECT_EQ(gaps[i].range.low, of_table[i].range.low);
      EXPECT_EQ(gaps[i].range.high, of_table[i].range.high);
    }
  }
  std::vector<Cell> together;
  for (const auto& row : rows)
    std::ranges::copy(cells_of(row, predictor.columns()), std::back_inserter(together));
  expect_the_same(predictor.predict(together), predict(predictor.model(), table), what);
}

TEST(RowPredictor, TellsOfValuesExactlyWhatIsToldOfATable) {
  for (const Encoding encoding :
       {Encoding::one_hot, Encoding::ordinal, Encoding::embedding, Encoding::target})
    for (const Missing missing : {Missing::impute, Missing::indicate})
      for (const Scaling scaling : {Scaling::standard, Scaling::robust, Scaling::quantile}) {
        PreparationConfig config;
        config.categorical_encoding = encoding;
        config.missing_values = missing;
        config.scaling = scaling;
        expect_as_a_table(network_of_sales(config, "price"),
                          fmt::format("{} {} {}", config::name_of(encoding), config::name_of(missing),
                                      config::name_of(scaling)));
      }
  PreparationConfig classes;
  classes.task = TaskChoice::multiclass;
  expect_as_a_table(network_of_sales(classes, "rooms"), "classes");
}

TEST(RowPredictor, AveragesTheMembersOfAnEnsemble) {
  Model whole = network_of_sales({}, "price");
  Model other = whole;
  other.parameters = initial_parameters(other.network, 4);
  Model ensemble = whole;
  ensemble.parameters.clear();
  ensemble.members = {whole, other};
  ensemble.weights = {0.25, 0.75};
  expect_as_a_table(std::move(ensemble), "ensemble");
}

std::string refusal_of(const Cell& cell, const std::string& column) {
  const RowPredictor predictor(std::make_shared<const Model>(network_of_sales({}, "price")));
  std::vector<Cell> cells = cells_of(sales().front(), predictor.columns());
  cells[static_cast<std::size_t>(std::ranges::find(predictor.columns(), column) -
                                 predictor.columns().begin())] = cell;
  try {
    predictor.predict(cells);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RowPredictor, RefusesWhatIsNoNumberOrDate) {
  EXPECT_THAT(refusal_of({Cell::Kind::text, 0, "large"}, "area"), HasSubstr("'large' in row 1"));
  EXPECT_THAT(refusal_of({Cell::Kind::text, 0, "31/31/2020"}, "sold"),
              HasSubstr("is no date in the form %d/%m/%Y"));
  EXPECT_THAT(
      refusal_of({Cell::Kind::text, 0, "31/31/2020"}, "sold"),
      HasSubstr("contains text, but held dates (such as 01/01/2010) in training: '31/31/2020' in row 1"));
  EXPECT_THAT(
      refusal_of({Cell::Kind::number, 20200131}, "sold"),
      HasSubstr("contains numbers, but held dates (such as 01/01/2010) in training: 20200131 in row 1"));
  EXPECT_THAT(refusal_of({Cell::Kind::truth, 1}, "sold"), HasSubstr("contains booleans"));
  EXPECT_THAT(refusal_of({Cell::Kind::text, 0, "2020-01-31"}, "area"), HasSubstr("held numbers in training"));
  EXPECT_THAT(refusal_of({Cell::Kind::number, 1e300}, "area"), HasSubstr("too large for float32"));
  EXPECT_EQ(refusal_of({Cell::Kind::number, 7}, "town"), "");
}

// Without a form, as files have dates that their reader knows by itself.
TEST(RowPredictor, RefusesNumbersWhereDatesHadTheFormOfTheirFile) {
  Model model = network_of_sales({}, "price");
  nlohmann::json preparation = model.preparation.to_json();
  for (auto& column : preparation["columns"]) column.erase("date_form");
  model.preparation = Preparation::from_json(preparation);
  const RowPredictor predictor(std::make_shared<const Model>(std::move(model)));
  std::vector<Cell> cells = cells_of(sales().front(), predictor.columns());
  Cell& sold = cells[static_cast<std::size_t>(std::ranges::find(predictor.columns(), "sold") -
                                              predictor.columns().begin())];
  for (const Cell& cell :
       {Cell{Cell::Kind::number, 1975}, Cell{Cell::Kind::number, 19750101}, Cell{Cell::Kind::truth, 1}}) {
    sold = cell;
    EXPECT_THROW(predictor.predict(cells), Error) << cell.number;
  }
  sold = {Cell::Kind::text, 0, "2015-01-01"};
  EXPECT_EQ(predictor.predict(cells).rows(), 1);
}

TEST(RowPredictor, NotesDatesFarFromThoseOfTraining) {
  const RowPredictor predictor(std::make_shared<const Model>(network_of_sales({}, "price")));
  std::vector<Cell> cells = cells_of(sales().front(), predictor.columns());
  Cell& sold = cells[static_cast<std::size_t>(std::ranges::find(predictor.columns(), "sold") -
                                              predictor.columns().begin())];
  sold = {Cell::Kind::text, 0, "31/12/2044"};
  EXPECT_EQ(gaps_text(predictor.gaps(cells)),
            "values far from those of training: 1 in 'sold' (2010-01-01 to 2018-12-24)");
  nlohmann::json answer;
  add_gaps(answer, predictor.gaps(cells));
  EXPECT_EQ(answer["outside"]["sold"],
            (nlohmann::json{{"rows", 1}, {"low", "2010-01-01"}, {"high", "2018-12-24"}}));
  sold = {Cell::Kind::text, 0, "31/12/2019"};
  EXPECT_TRUE(predictor.gaps(cells).empty());
}

TEST(RowPredictor, SaysWhichModelsItCannotServe) {
  EXPECT_EQ(RowPredictor::problem_with(linear_model()), "");
  EXPECT_EQ(RowPredictor::problem_with(network_model(Task::binary)), "");
  Model other = network_model(Task::regression);
  other.network.family = "lstm";
  EXPECT_THAT(RowPredictor::problem_with(other), HasSubstr("LibTorch"));
}

}  // namespace
}  // namespace stoker
