#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "config/refusal.h"

namespace stoker::config {
namespace {

// Same content, types included; lines aside.
bool same(const Value& a, const Value& b) {
  if (a.is_null() || b.is_null()) return a.is_null() && b.is_null();
  if (const auto* list = a.get_if<Value::List>()) {
    const auto* other = b.get_if<Value::List>();
    return other != nullptr && std::equal(list->begin(), list->end(), other->begin(), other->end(), same);
  }
  if (const auto* map = a.get_if<Value::Map>()) {
    const auto* other = b.get_if<Value::Map>();
    return other != nullptr && std::equal(map->begin(), map->end(), other->begin(), other->end(),
                                          [](const Entry& x, const Entry& y) {
                                            return x.key == y.key && same(x.value, y.value);
                                          });
  }
  if (const auto* number = a.get_if<double>()) {
    const auto* other = b.get_if<double>();
    return other != nullptr && (*number == *other || (std::isnan(*number) && std::isnan(*other)));
  }
  const auto equal = [&]<class T>(const T*) {
    return a.get_if<T>() != nullptr && b.get_if<T>() != nullptr && *a.get_if<T>() == *b.get_if<T>();
  };
  return equal(static_cast<const bool*>(nullptr)) || equal(static_cast<const std::int64_t*>(nullptr)) ||
         equal(static_cast<const std::string*>(nullptr));
}

void expect_reads_back(const Value& value) {
  const std::string text = to_yaml(value);
  EXPECT_TRUE(same(parse_yaml(text, "written.yaml"), value)) << text;
}

const std::vector<std::string> awkward_texts = {"",
                                                " ",
                                                "a",
                                                "plain text",
                                                "trailing ",
                                                " leading",
                                                "5",
                                                "5.0",
                                                "-1",
                                                "+1",
                                                ".5",
                                                "0x1F",
                                                "0o7",
                                                "1e5",
                                                ".inf",
                                                ".nan",
                                                "true",
                                                "False",
                                                "null",
                                                "~",
                                                "yes",
                                                "No",
                                                "on",
                                                "OFF",
                                                "y",
                                                "- a",
                                                "-",
                                                "--",
                                                "---",
                                                "...",
                                                "--- a",
                                                "a: b",
                                                "a:",
                                                ":",
                                                "a :b",
                                                "a #b",
                                                "#a",
                                                "a#b",
                                                "[a]",
                                                "{a}",
                                                "a]",
                                                "a,b",
                                                "'",
                                                "\"",
                                                "it's",
                                                "\\",
                                                "a\\nb",
                                                "line\nline",
                                                "\n",
                                                "tab\t",
                                                "\t",
                                                "\r",
                                                "a\rb",
                                                "&a",
                                                "*a",
                                                "!a",
                                                "!!str a",
                                                "|",
                                                ">",
                                                "%a",
                                                "@a",
                                                "`a",
                                                "?",
                                                "? a",
                                                "<<",
                                                "=",
                                                "é",
                                                "日本語",
                                                "\xEF\xBB\xBF"
                                                "bom",
                                                "a\xEF\xBB\xBF",
                                                "\x01\x7F\x1B[0m",
                                                "https://example.org/a?b=c#d",
                                                "C:\\path",
                                                "a b: c",
                                                "2024-01-01",
                                                "12:30:45",
                                                "1_000",
                                                "0",
                                                "00",
                                                "007",
                                                "1.2.3",
                                                "/usr/bin",
                                                "./x",
                                                "../x",
                                                "\xC2\x85",
                                                "\xE2\x80\xA8",
                                                "\xC2\xA0",
                                                "\xF0\x9F\x98\x80",
                                                std::string(5000, 'x'),
                                                std::string(300, ' ') + "x",
                                                "a  b",
                                                "/",
                                                "//",
                                                "a:/b",
                                                ":/",
                                                "_"};

TEST(WriteYaml, ReadsBackEveryAwkwardText) {
  for (const std::string& text : awkward_texts) {
    expect_reads_back(Value(text));
    expect_reads_back(Value(Value::List{Value(text), Value(1)}));
    Value::List nested{Value(Value::List{Value(text)})};
    expect_reads_back(Value(std::move(nested)));
    Value map;
    map.set("k", Value(text));
    expect_reads_back(map);
  }
}

TEST(WriteYaml, ReadsBackEveryAwkwardKey) {
  for (const std::string& text : awkward_texts) {
    Value inner;
    inner.set(text, Value(Value::List{Value(1), Value(Value::List{})}));
    Value map;
    map.set(text, inner);
    map.set("z", Value(1));
    expect_reads_back(map);
    expect_reads_back(Value(Value::List{map, inner}));
  }
}

TEST(WriteYaml, ReadsBackNumbersToTheLastBit) {
  for (const double number : {0.0, 1.0, -1.0, 0.1, 1e-300, 1e300, 5e-324, 1e16, 1e22, 123456789.125,
                              std::numeric_limits<double>::max(), std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity(), std::nan("")}) {
    expect_reads_back(Value(number));
  }
  for (const std::int64_t whole : {std::int64_t{0}, INT64_MAX, INT64_MIN, std::int64_t{-5}})
    expect_reads_back(Value(whole));
  expect_reads_back(Value(true));
  expect_reads_back(Value());
}

TEST(WriteYaml, ReadsBackNestedListsAndMaps) {
  const std::string text =
      "a: {b: {c: [], d: {}}, e: [[1, 2], [], [[3]], {x: 1, y: [{z: 2}]}]}\n"
      "- x: 1\n";
  expect_reads_back(parse_yaml(text.substr(0, text.find('\n')), "doc.yaml"));
  Value::List many;
  for (int i = 0; i < 200; ++i) many.push_back(Value(i));
  Value map;
  map.set("many", Value(many));
  map.set("lists", Value(Value::List{Value(many), Value(many), map}));
  expect_reads_back(map);
}

TEST(WriteYaml, IsPleasantToRead) {
  const Value document = parse_yaml(
      "cards: {model: {type: model_define, config: {hidden_layers: [128, 64], name: '5', note: null, ratio: "
      "1.0}}}\n"
      "connections: [{from: a, to: b}, {from: b, to: c}]\n",
      "doc.yaml");
  EXPECT_EQ(to_yaml(document),
            "cards:\n"
            "  model:\n"
            "    type: model_define\n"
            "    config:\n"
            "      hidden_layers: [128, 64]\n"
            "      name: \"5\"\n"
            "      note: null\n"
            "      ratio: 1.0\n"
            "connections:\n"
            "  - from: a\n"
            "    to: b\n"
            "  - from: b\n"
            "    to: c\n");
}

TEST(Json, ConvertsBothWays) {
  const Value document = parse_yaml("a: [1, 2.5, x, true, null]\nb: {c: {}}\n", "doc.yaml");
  const nlohmann::json json = to_json(document);
  EXPECT_EQ(json, nlohmann::json::parse(R"({"a": [1, 2.5, "x", true, null], "b": {"c": {}}})"));
  EXPECT_TRUE(same(from_json(json), document));
  EXPECT_EQ(*from_json(nlohmann::json(18446744073709551615U)).get_if<double>(), 18446744073709551615.0);
}

TEST(Value, IsDescribedInWords) {
  EXPECT_EQ(Value().describe(), "nothing");
  EXPECT_EQ(Value(true).describe(), "the value true");
  EXPECT_EQ(Value(5).describe(), "the number 5");
  EXPECT_EQ(Value(0.5).describe(), "the number 0.5");
  EXPECT_EQ(Value("abc").describe(), "the text 'abc'");
  EXPECT_EQ(Value(Value::List{}).describe(), "a list");
  EXPECT_EQ(Value(Value::Map{}).describe(), "a map");
  EXPECT_EQ(Value(std::string(100, 'a')).describe(), "the text '" + std::string(60, 'a') + "…'");
}

TEST(Value, SetsAndReplacesUnderAKey) {
  Value value;
  value.set("a", Value(1));
  value.set("a", Value(2));
  value.set("b", Value("x"));
  EXPECT_EQ(to_json(value), nlohmann::json::parse(R"({"a": 2, "b": "x"})"));
  EXPECT_EQ(value.find("c"), nullptr);
  EXPECT_EQ(Value(5).find("c"), nullptr);
  EXPECT_THROW(Value(5).set("a", Value(1)), Error);
}

}  // namespace
}  // namespace stoker::config
