#include "config/field.h"

#include <nlohmann/json.hpp>

#include "config/refusal.h"

namespace stoker::config {

enum class Color { red, green, blue };
template <>
inline constexpr std::array<std::string_view, 3> names<Color>{"red", "green", "blue"};

namespace {

using testing::HasSubstr;

struct Everything {
  bool flag = true;
  int small = 3;
  std::uint64_t seed = 42;
  std::int64_t whole = 0;
  double ratio = 0.8;
  float rate = 0.5F;
  std::string name = "x";
  std::string column;
  Color color = Color::green;
  std::vector<int> layers = {64, 32};
  std::vector<double> weights;
  std::vector<std::string> columns;
  std::vector<Color> colors;
  std::optional<double> alpha;
  std::optional<std::string> label;
  Value extra;
};

Fields fields(Everything& e) {
  return {
      field("flag", e.flag, "A switch"),
      field("small", e.small, "A small number").within(1, 10),
      field("seed", e.seed, "A seed"),
      field("whole", e.whole, "Any whole number"),
      field("ratio", e.ratio, "A share").above(0).within(0, 1),
      field("rate", e.rate, "A rate").at_least(0).below(1),
      field("name", e.name, "A name").not_empty(),
      field("column", e.column, "A column").optional(),
      field("color", e.color, "A color"),
      field("layers", e.layers, "Layers").at_least(1).not_empty(),
      field("weights", e.weights, "Weights"),
      field("columns", e.columns, "Columns"),
      field("colors", e.colors, "Colors"),
      field("alpha", e.alpha, "Strength").above(0),
      field("label", e.label, "Label"),
      field("extra", e.extra, "Anything | else"),
  };
}

Everything read_yaml(const std::string& text, Diagnostics& diagnostics) {
  return read<Everything>(parse_yaml(text, "doc.yaml"), "c", diagnostics);
}

std::string errors(const std::string& text) {
  Diagnostics diagnostics("doc.yaml");
  read_yaml(text, diagnostics);
  return diagnostics.text();
}

Everything right(const std::string& text) {
  Diagnostics diagnostics("doc.yaml");
  Everything result = read_yaml(text, diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  return result;
}

TEST(Field, StoresEveryTypeOfMember) {
  const Everything e = right(
      "flag: false\nsmall: 5.0\nseed: 0x10\nwhole: -7\nratio: 1\nrate: 0.25\nname: n\ncolumn: c\ncolor: "
      "blue\n"
      "layers: [1, 2.0]\nweights: [1, .5]\ncolumns: [a, 'b']\ncolors: [red, blue]\nalpha: 2\nlabel: "
      "l\nextra: {k: 1}\n");
  EXPECT_FALSE(e.flag);
  EXPECT_EQ(e.small, 5);
  EXPECT_EQ(e.seed, 16U);
  EXPECT_EQ(e.whole, -7);
  EXPECT_EQ(e.ratio, 1.0);
  EXPECT_EQ(e.rate, 0.25F);
  EXPECT_EQ(e.name, "n");
  EXPECT_EQ(e.column, "c");
  EXPECT_EQ(e.color, Color::blue);
  EXPECT_EQ(e.layers, (std::vector<int>{1, 2}));
  EXPECT_EQ(e.weights, (std::vector<double>{1.0, 0.5}));
  EXPECT_EQ(e.columns, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(e.colors, (std::vector<Color>{Color::red, Color::blue}));
  EXPECT_EQ(e.alpha, 2.0);
  EXPECT_EQ(e.label, "l");
  EXPECT_EQ(*e.extra.find("k")->get_if<std::int64_t>(), 1);
}

TEST(Field, LeavesTheDefaultOfWhatIsNotGiven) {
  const Everything e = right("flag: true\n");
  EXPECT_EQ(e.small, 3);
  EXPECT_EQ(e.layers, (std::vector<int>{64, 32}));
  EXPECT_FALSE(e.alpha.has_value());
  EXPECT_EQ(right("").seed, 42U);
}

TEST(Field, LeavesTheMemberAloneWhenTheValueIsWrong) {
  Diagnostics diagnostics("doc.yaml");
  const Everything e = read_yaml("small: 50\nlayers: [1, x]\ncolor: pink\n", diagnostics);
  EXPECT_EQ(diagnostics.found().size(), 3U);
  EXPECT_EQ(e.small, 3);
  EXPECT_EQ(e.layers, (std::vector<int>{64, 32}));
  EXPECT_EQ(e.color, Color::green);
}

TEST(Field, NamesTheNearestSettingForAnUnknownOne) {
  EXPECT_EQ(errors("flag: true\nrato: 0.5\n"), "doc.yaml:2: c.rato: unknown setting; did you mean ratio?");
  EXPECT_EQ(errors("zzzzzzzzzzzz: 0.5\n"), "doc.yaml:1: c.zzzzzzzzzzzz: unknown setting");
}

TEST(Field, NamesTheRange) {
  EXPECT_EQ(errors("small: 11\n"), "doc.yaml:1: c.small: the number 11 is out of range; allowed: 1 to 10");
  EXPECT_EQ(errors("ratio: 0\n"),
            "doc.yaml:1: c.ratio: the number 0 is out of range; allowed: above 0 and at most 1");
  EXPECT_EQ(errors("rate: 1.0\n"),
            "doc.yaml:1: c.rate: the number 1 is out of range; allowed: at least 0 and below 1");
  EXPECT_EQ(errors("seed: -1\n"), "doc.yaml:1: c.seed: the number -1 is out of range; allowed: at least 0");
  EXPECT_EQ(errors("alpha: 0\n"), "doc.yaml:1: c.alpha: the number 0 is out of range; allowed: above 0");
}

TEST(Field, NamesTheItemOfAList) {
  EXPECT_EQ(errors("layers:\n  - 4\n  - 0\n  - x\n"),
            "doc.yaml:3: c.layers.1: the number 0 is out of range; allowed: each at least 1\n"
            "doc.yaml:4: c.layers.2: must be a whole number, found the text 'x'");
  EXPECT_EQ(errors("colors: [red, gren]\n"),
            "doc.yaml:1: c.colors.1: 'gren' is not a valid choice; did you mean green? (allowed: one of red, "
            "green, "
            "blue)");
}

TEST(Field, RefusesWholeNumbersThatTheMemberCannotHold) {
  EXPECT_THAT(errors("small: 5000000000\n"), HasSubstr("allowed: 1 to 10"));
  EXPECT_THAT(errors("layers: [4294967297]\n"), HasSubstr("is out of range; allowed: each 1 to 2147483647"));
  EXPECT_THAT(errors("seed: 18446744073709551616\n"), HasSubstr("is out of range"));
  EXPECT_THAT(errors("whole: 1e300\n"), HasSubstr("is out of range"));
  EXPECT_THAT(errors("whole: -9223372036854775809\n"), HasSubstr("is out of range"));
  EXPECT_EQ(right("whole: -9223372036854775808\n").whole, INT64_MIN);
  EXPECT_EQ(right("seed: 9223372036854775807\n").seed, 9223372036854775807U);
}

TEST(Field, RefusesFractionsForWholeNumbers) {
  EXPECT_EQ(errors("small: 5.5\n"), "doc.yaml:1: c.small: must be a whole number, found the number 5.5");
}

TEST(Field, RefusesNumbersThatAreNotFinite) {
  EXPECT_THAT(errors("alpha: .nan\n"), HasSubstr("must be a finite number, found not a number"));
  EXPECT_THAT(errors("alpha: .inf\n"), HasSubstr("must be a finite number, found infinity"));
  EXPECT_THAT(errors("weights: [-.inf]\n"),
              HasSubstr("c.weights.0: must be a finite number, found minus infinity"));
  EXPECT_THAT(errors("small: .inf\n"), HasSubstr("must be a whole number, found infinity"));
  EXPECT_THAT(errors("small: .nan\n"), HasSubstr("must be a whole number"));
}

TEST(Field, RefusesNumbersThatAFloatCannotHold) {
  struct OneFloat {
    float f = 0;
  } c;
  Diagnostics diagnostics("doc.yaml");
  read_fields({field("f", c.f, "")}, parse_yaml("f: 1e39", "doc.yaml"), "", diagnostics);
  EXPECT_THAT(diagnostics.text(), HasSubstr("doc.yaml:1: f: the number 1e+39 is out of range"));
}

TEST(Field, NamesWhatWasExpectedAndFound) {
  EXPECT_EQ(errors("flag: yes\n"), "doc.yaml:1: c.flag: must be true or false, found the text 'yes'");
  EXPECT_EQ(errors("flag: 1\n"), "doc.yaml:1: c.flag: must be true or false, found the number 1");
  EXPECT_EQ(errors("small: '5'\n"), "doc.yaml:1: c.small: must be a whole number, found the text '5'");
  EXPECT_EQ(errors("name: 5\n"), "doc.yaml:1: c.name: must be text, found the number 5; put it in quotes");
  EXPECT_EQ(errors("name: [a]\n"), "doc.yaml:1: c.name: must be text, found a list");
  EXPECT_EQ(errors("layers: 64\n"),
            "doc.yaml:1: c.layers: must be a list of whole numbers, such as [64, 32], found the number 64");
  EXPECT_EQ(errors("extra: [1]\n"), "doc.yaml:1: c.extra: must be a map of settings, found a list");
  EXPECT_EQ(errors("[1]\n"), "doc.yaml:1: c: must be a map of settings, found a list");
}

TEST(Field, RefusesEmptinessWhereItSaysSo) {
  EXPECT_EQ(errors("name: ''\n"), "doc.yaml:1: c.name: must not be empty");
  EXPECT_EQ(errors("layers: []\n"), "doc.yaml:1: c.layers: must not be empty");
  EXPECT_TRUE(right("columns: []\n").columns.empty());
}

TEST(Field, TakesNullOnlyWhereItIsOptional) {
  EXPECT_EQ(errors("small: null\n"), "doc.yaml:1: c.small: must be a whole number, found nothing");
  EXPECT_EQ(errors("name:\n"), "doc.yaml:1: c.name: must be text, found nothing");
  EXPECT_EQ(errors("color: ~\n"), "doc.yaml:1: c.color: must be text, found nothing");
  EXPECT_EQ(right("column: null\n").column, "");
  EXPECT_FALSE(right("alpha: ~\n").alpha.has_value());
  EXPECT_FALSE(right("label: ''\n").label.has_value());
  EXPECT_TRUE(right("extra:\n").extra.is_null());
}

TEST(Field, ReportsEverythingThatIsWrongInTheOrderOfLines) {
  Everything e;
  Fields all = fields(e);
  all.push_back(field("target", e.name, "Target").required());
  Diagnostics diagnostics("doc.yaml");
  read_fields(all, *parse_yaml("x: 1\nc:\n  small: 0\n  nme: a\n  flag: 3\n", "doc.yaml").find("c"), "c",
              diagnostics);
  EXPECT_EQ(diagnostics.text(),
            "doc.yaml:3: c.small: the number 0 is out of range; allowed: 1 to 10\n"
            "doc.yaml:3: c.target: missing, and there is no default\n"
            "doc.yaml:4: c.nme: unknown setting; did you mean name?\n"
            "doc.yaml:5: c.flag: must be true or false, found the number 3");
  EXPECT_EQ(refusal([&] { diagnostics.refuse_if_any(); }), diagnostics.text());
}

TEST(Diagnostics, ShowsTheFirstFiftyOfManyAndCountsTheRest) {
  Diagnostics diagnostics("doc.yaml");
  diagnostics.refuse_if_any();
  for (int i = 0; i < 1000; ++i) diagnostics.add(i + 1, "a", "wrong");
  EXPECT_THAT(diagnostics.text(), HasSubstr("doc.yaml:50: a: wrong\n… and 950 more"));
}

TEST(Diagnostics, EscapesWhatAHostileKeyWouldSayToTheTerminal) {
  EXPECT_EQ(errors("\"a\\e[31m\": 1\n"), "doc.yaml:1: c.a\\x1b[31m: unknown setting");
  EXPECT_LT(errors(std::string(900, 'k') + ": 1\n").size(), 200U);
}

TEST(Field, WritesEverySettingSoThatItReadsBack) {
  Everything e;
  e.layers = {7};
  e.alpha = 3.0;
  e.color = Color::red;
  const Value written = write(e);
  EXPECT_EQ(written.get_if<Value::Map>()->size(), 16U);
  Diagnostics diagnostics("doc.yaml");
  const Everything again = read<Everything>(written, "", diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  EXPECT_EQ(to_json(write(again)), to_json(written));
  EXPECT_EQ(again.layers, e.layers);
  EXPECT_EQ(again.color, Color::red);
}

TEST(Schema, StatesTypesRangesChoicesAndDefaults) {
  Everything e;
  Fields all = fields(e);
  all.push_back(field("target", e.name, "Target").required());
  const nlohmann::json schema = json_schema(all);
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["required"], nlohmann::json({"target"}));
  const nlohmann::json& properties = schema["properties"];
  EXPECT_EQ(properties["ratio"],
            nlohmann::json::parse(R"({"type": "number", "exclusiveMinimum": 0.0, "maximum": 1.0,
      "description": "A share", "default": 0.8})"));
  EXPECT_EQ(properties["layers"],
            nlohmann::json::parse(R"({"type": "array", "minItems": 1, "description": "Layers",
      "items": {"type": "integer", "minimum": 1, "maximum": 2147483647}, "default": [64, 32]})"));
  EXPECT_EQ(properties["color"]["enum"], nlohmann::json({"red", "green", "blue"}));
  EXPECT_EQ(properties["alpha"]["type"], nlohmann::json({"number", "null"}));
  EXPECT_EQ(properties["alpha"]["default"], nullptr);
  EXPECT_EQ(properties["seed"]["minimum"], 0);
  EXPECT_FALSE(properties["target"].contains("default"));
}

TEST(Reference, DescribesAFieldInARow) {
  Everything e;
  const std::string table = reference_table(fields(e));
  EXPECT_THAT(table, HasSubstr("| setting | type | default | allowed | meaning |\n|---|---|---|---|---|\n"));
  EXPECT_THAT(table, HasSubstr("| `ratio` | number | `0.8` | above 0 and at most 1 | A share |\n"));
  EXPECT_THAT(table, HasSubstr("| `color` | text | `green` | one of red, green, blue | A color |\n"));
  EXPECT_THAT(
      table,
      HasSubstr("| `layers` | list of whole numbers | `[64, 32]` | each at least 1; not empty | Layers |\n"));
  EXPECT_THAT(table, HasSubstr("| `alpha` | number |  | above 0 | Strength |\n"));
  EXPECT_THAT(table, HasSubstr("| `extra` | map |  |  | Anything \\| else |\n"));
}

struct Inner {
  int folds = 0;
  int repeats = 1;
};

Fields fields(Inner& e) {
  return {field("folds", e.folds, "How many").within(0, 9), field("repeats", e.repeats, "How often")};
}

struct Outer {
  Inner inner;
  int other = 5;
};

Fields fields(Outer& e) {
  return {field_of_settings("inner", e.inner, "A map"), field("other", e.other, "Another")};
}

TEST(FieldOfSettings, IsReadCheckedAndWrittenLikeAnyOther) {
  Diagnostics diagnostics("");
  const auto read_from = [&](const char* yaml) {
    return read<Outer>(parse_yaml(yaml, "x.yaml"), "config", diagnostics);
  };
  const Outer outer = read_from("inner: { folds: 4 }\nother: 6");
  EXPECT_EQ(outer.inner.folds, 4);
  EXPECT_EQ(outer.inner.repeats, 1);
  EXPECT_EQ(outer.other, 6);
  EXPECT_EQ(to_json(write(outer)).dump(), R"({"inner":{"folds":4,"repeats":1},"other":6})");
  EXPECT_EQ(read_from("other: 1").inner.folds, 0);
  EXPECT_EQ(read_from("inner:").inner.repeats, 1);
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.text();
  read_from("inner: { fold: 4 }");
  read_from("inner: { folds: 10 }");
  read_from("inner: 3");
  EXPECT_THAT(diagnostics.text(), HasSubstr("config.inner.fold: unknown setting"));
  EXPECT_THAT(diagnostics.text(), HasSubstr("config.inner.folds: "));
  EXPECT_THAT(diagnostics.text(), HasSubstr("config.inner: must be a map of settings"));
}

TEST(FieldOfSettings, IsDescribedWithWhatIsInIt) {
  Outer outer;
  const nlohmann::json schema = json_schema(fields(outer));
  const nlohmann::json& inner = schema.at("properties").at("inner");
  EXPECT_EQ(inner.at("type"), "object");
  EXPECT_EQ(inner.at("properties").at("folds").at("maximum"), 9);
  EXPECT_EQ(inner.at("additionalProperties"), false);
  EXPECT_EQ(inner.at("default").at("repeats"), 1);
  EXPECT_THAT(reference_table(fields(outer)), HasSubstr("| `inner.folds` | whole number | `0` | 0 to 9 |"));
}

struct FromElsewhere {
  std::int64_t rows = 32;
  Color color = Color::green;
};
Fields fields(FromElsewhere& c) {
  return {field("rows", c.rows, "Rows").within(1, 100).or_word("auto", 0).needs_no("workers", "no workers"),
          field("color", c.color, "A color")
              .also_called("is_blue", "called color here", [](const Value& given) -> std::optional<Value> {
                const bool* is_blue = given.get_if<bool>();
                return is_blue == nullptr ? given : Value(*is_blue ? "blue" : "red");
              })};
}

FromElsewhere read_from_elsewhere(const std::string& text, Diagnostics& diagnostics) {
  return read<FromElsewhere>(parse_yaml(text, "doc.yaml"), "c", diagnostics);
}

struct Grouped {
  std::vector<std::vector<std::string>> groups;
};

Fields fields(Grouped& c) {
  return {field("groups", c.groups, "Groups of names")};
}

TEST(Field, TakesListsOfNamesWhichMayBeNumbers) {
  Diagnostics diagnostics("");
  const auto groups = [&](const std::string& text) {
    return read<Grouped>(parse_yaml("groups: " + text, "doc.yaml"), "c", diagnostics).groups;
  };
  const std::vector<std::vector<std::string>> expected{{"0", "b", "true"}, {"1.5"}};
  EXPECT_EQ(groups("[[0, b, true], [1.5]]"), expected);
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_EQ(to_json(write(Grouped{expected})).at("groups"),
            nlohmann::json::parse(R"([["0","b","true"],["1.5"]])"));
  groups("[0, [1]]");
  EXPECT_THAT(diagnostics.text(), HasSubstr("c.groups.0: must be a list of names, such as [a, b]"));
  groups("[[1], [{a: 1}]]");
  EXPECT_THAT(diagnostics.text(), HasSubstr("c.groups.1: must hold names, found a map"));
  groups("many");
  EXPECT_THAT(diagnostics.text(), HasSubstr("must be a list of lists, such as [[a, b], [c]]"));
  Grouped c;
  EXPECT_EQ(json_schema(fields(c)).at("properties").at("groups").at("items").at("type"), "array");
  EXPECT_THAT(reference_table(fields(c)), HasSubstr("list of lists of names"));
}

struct Mapped {
  std::vector<Value> maps;
};
Fields fields(Mapped& c) {
  return {field("maps", c.maps, "Maps of anything")};
}

TEST(Field, TakesAListOfMapsWhichItsOwnerChecks) {
  Diagnostics diagnostics("doc.yaml");
  const auto maps = [&](const std::string& text) {
    return read<Mapped>(parse_yaml("maps: " + text, "doc.yaml"), "c", diagnostics).maps;
  };
  const std::vector<Value> read_maps = maps("[{ name: a, settings: { x: 1 } }, { name: b }]");
  ASSERT_EQ(read_maps.size(), 2U);
  EXPECT_EQ(to_json(write(Mapped{read_maps})).at("maps"),
            nlohmann::json::parse(R"([{"name": "a", "settings": {"x": 1}}, {"name": "b"}])"));
  EXPECT_TRUE(diagnostics.empty());
  maps("[{ name: a }, b]");
  EXPECT_THAT(diagnostics.text(), HasSubstr("c.maps.1: must be a map of settings, found the text 'b'"));
  Mapped none;
  EXPECT_EQ(json_schema(fields(none)).at("properties").at("maps").at("items").at("type"), "object");
  EXPECT_THAT(reference_table(fields(none)), HasSubstr("list of maps"));
}

TEST(Field, TakesAWordInPlaceOfANumber) {
  Diagnostics diagnostics("");
  const FromElsewhere read_back = read_from_elsewhere("rows: auto", diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_EQ(read_back.rows, 0);
  EXPECT_EQ(*write(read_back).find("rows")->get_if<std::string>(), "auto");
  EXPECT_EQ(read_from_elsewhere("rows: 64", diagnostics).rows, 64);
  read_from_elsewhere("rows: much", diagnostics);
  EXPECT_THAT(diagnostics.text(), HasSubstr("must be a whole number or auto"));
  FromElsewhere c;
  const auto schema = json_schema(fields(c)).at("properties").at("rows");
  EXPECT_EQ(schema.at("anyOf").at(1).at("const"), "auto");
  EXPECT_EQ(schema.at("anyOf").at(0).at("maximum"), 100);
  EXPECT_THAT(reference_table(fields(c)), HasSubstr("whole number or `auto`"));
}

TEST(Field, TheNumberThatAWordStandsForIsNotGiven) {
  Diagnostics diagnostics("");
  read_from_elsewhere("rows: 0", diagnostics);
  EXPECT_THAT(diagnostics.text(), HasSubstr("out of range; allowed: 1 to 100 or auto"));
}

TEST(Field, TakesTheNamesOfOthersWithANoteOfWhatTheyMean) {
  Diagnostics diagnostics("");
  const FromElsewhere read_back = read_from_elsewhere("is_blue: true\nworkers: 4", diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.text();
  EXPECT_EQ(read_back.color, Color::blue);
  EXPECT_THAT(diagnostics.notes(),
              testing::ElementsAre("line 1: c.is_blue: called color here", "line 2: c.workers: no workers"));
  EXPECT_EQ(write(read_back).find("workers"), nullptr);
  FromElsewhere c;
  EXPECT_TRUE(json_schema(fields(c)).at("properties").contains("is_blue"));
  EXPECT_THAT(reference_table(fields(c)), HasSubstr("| `workers` | | | | no workers |"));
}

TEST(Field, TwoNamesForOneSettingContradictEachOther) {
  Diagnostics diagnostics("");
  read_from_elsewhere("color: red\nis_blue: true", diagnostics);
  EXPECT_THAT(diagnostics.text(), HasSubstr("c.is_blue: sets what color sets too"));
}

}  // namespace
}  // namespace stoker::config
