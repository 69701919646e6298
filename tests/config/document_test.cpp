#include <cmath>

#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "config/refusal.h"

namespace stoker::config {
namespace {

using testing::HasSubstr;

Value yaml(const std::string& text) {
  return parse_yaml(text, "doc.yaml");
}

Value only(const std::string& scalar) {
  return *yaml("x: " + scalar).find("x");
}

TEST(Yaml, KeepsTheLineOfEveryKeyAndValue) {
  const Value document = yaml(
      "# note\ncards:\n  split:\n    config: { train_ratio: 0.8,\n      seed: 4 }\nlist:\n  - a\n  - b\n");
  const Value* config = document.find("cards")->find("split")->find("config");
  EXPECT_EQ(config->line(), 4);
  EXPECT_EQ(config->find("train_ratio")->line(), 4);
  EXPECT_EQ(config->find("seed")->line(), 5);
  EXPECT_EQ((*document.get_if<Value::Map>())[1].line, 6);
  EXPECT_EQ((*document.find("list")->get_if<Value::List>())[1].line(), 8);
}

TEST(Yaml, KeepsTheOrderOfKeys) {
  const Value document = yaml("z: 1\na: 2\nm: 3\n");
  std::string keys;
  for (const Entry& entry : *document.get_if<Value::Map>()) keys += entry.key;
  EXPECT_EQ(keys, "zam");
}

TEST(Yaml, ReadsPlainScalarsByTheCoreSchema) {
  for (const char* text : {"", "~", "null", "Null", "NULL"}) EXPECT_TRUE(only(text).is_null()) << text;
  EXPECT_TRUE(*only("true").get_if<bool>());
  EXPECT_FALSE(*only("FALSE").get_if<bool>());
  EXPECT_EQ(*only("12").get_if<std::int64_t>(), 12);
  EXPECT_EQ(*only("-12").get_if<std::int64_t>(), -12);
  EXPECT_EQ(*only("+7").get_if<std::int64_t>(), 7);
  EXPECT_EQ(*only("0x1F").get_if<std::int64_t>(), 31);
  EXPECT_EQ(*only("0o17").get_if<std::int64_t>(), 15);
  EXPECT_EQ(*only("9223372036854775807").get_if<std::int64_t>(), INT64_MAX);
  EXPECT_EQ(*only("-9223372036854775808").get_if<std::int64_t>(), INT64_MIN);
  EXPECT_EQ(*only("9223372036854775808").get_if<double>(), 9223372036854775808.0);
  EXPECT_EQ(*only("0.25").get_if<double>(), 0.25);
  EXPECT_EQ(*only(".5").get_if<double>(), 0.5);
  EXPECT_EQ(*only("5.").get_if<double>(), 5.0);
  EXPECT_EQ(*only("1e-3").get_if<double>(), 1e-3);
  EXPECT_EQ(*only("+1E3").get_if<double>(), 1e3);
  EXPECT_EQ(*only("-.inf").get_if<double>(), -HUGE_VAL);
  EXPECT_EQ(*only("1e999").get_if<double>(), HUGE_VAL);
  EXPECT_EQ(*only("1e-999").get_if<double>(), 0.0);
  EXPECT_TRUE(std::isnan(*only(".nan").get_if<double>()));
}

TEST(Yaml, ReadsEverythingElseAsText) {
  for (const char* text : {"yes", "no", "on", "off", "1.2.3", "1e", "0x", "0xZZ", "-", "a-b", "1_000", "..5",
                           "nan", "inf", "2024-01-01", "12:30"}) {
    if (std::string(text) == "-") continue;
    ASSERT_NE(only(text).get_if<std::string>(), nullptr) << text;
    EXPECT_EQ(*only(text).get_if<std::string>(), text);
  }
}

TEST(Yaml, ReadsQuotedScalarsAsText) {
  for (const char* text : {"'5'", "\"5\"", "!!str 5", "'true'", "\"null\"", "''"}) {
    EXPECT_NE(only(text).get_if<std::string>(), nullptr) << text;
  }
  EXPECT_EQ(*only("\"a\\tb\\u00e9\"").get_if<std::string>(), "a\tb\xC3\xA9");
}

TEST(Yaml, FollowsCoreTagsAndRefusesOthers) {
  EXPECT_EQ(*only("!!float 5").get_if<double>(), 5.0);
  EXPECT_EQ(*only("!!int 5").get_if<std::int64_t>(), 5);
  EXPECT_THAT(yaml_refusal("a: 1\nb: !!int abc\n"), HasSubstr("doc.yaml:2: the tag"));
  EXPECT_THAT(yaml_refusal("b: !!python/object:os.system x\n"), HasSubstr("doc.yaml:1: the tag"));
  EXPECT_THAT(yaml_refusal("b: !mine [1]\n"), HasSubstr("doc.yaml:1: the tag"));
}

TEST(Yaml, ExpandsAnchors) {
  const Value document = yaml("base: &b {a: 1, l: [1, 2]}\ncopy: *b\nword: &w text\nagain: *w\n");
  EXPECT_EQ(to_json(*document.find("copy")), to_json(*document.find("base")));
  EXPECT_EQ(*document.find("again")->get_if<std::string>(), "text");
}

TEST(Yaml, UsesTheLatestOfTwoAnchorsOfOneName) {
  const Value document = yaml("a: &x 1\nb: *x\nc: &x 2\nd: *x\n");
  EXPECT_EQ(*document.find("b")->get_if<std::int64_t>(), 1);
  EXPECT_EQ(*document.find("d")->get_if<std::int64_t>(), 2);
}

TEST(Yaml, RefusesMergeKeysClearly) {
  EXPECT_THAT(yaml_refusal("a: &a {x: 1}\nb:\n  <<: *a\n"),
              HasSubstr("doc.yaml:3: merge keys (<<) are not supported"));
  EXPECT_EQ(*yaml("'<<': 1").find("<<")->get_if<std::int64_t>(), 1);
}

TEST(Yaml, RefusesEqualKeysWithBothLines) {
  EXPECT_EQ(yaml_refusal("a: 1\nb: 2\na: 3\n"), "doc.yaml:3: the key 'a' was already given on line 1");
  EXPECT_EQ(yaml_refusal("a: {x: 1,\n  x: 2}\n"), "doc.yaml:2: the key 'x' was already given on line 1");
  EXPECT_EQ(yaml_refusal("a: 1\n'a': 2\n"), "doc.yaml:2: the key 'a' was already given on line 1");
}

TEST(Yaml, RefusesASecondDocument) {
  EXPECT_THAT(yaml_refusal("a: 1\n---\nb: 2\n"), HasSubstr("a file can hold only one document"));
  EXPECT_THAT(yaml_refusal("[1, 2]\nb\n"), HasSubstr("doc.yaml:"));
  EXPECT_EQ(yaml_refusal("---\na: 1\n...\n"), "");
  EXPECT_EQ(yaml_refusal("%YAML 1.2\n---\na: 1\n"), "");
}

TEST(Yaml, RefusesKeysThatAreNotText) {
  EXPECT_THAT(yaml_refusal("[1]: 2\n"), HasSubstr("doc.yaml:1: found a list or map where a key should be"));
  EXPECT_THAT(yaml_refusal("a: 1\n? {b: 1}\n: 2\n"),
              HasSubstr("doc.yaml:2: found a list or map where a key should be"));
  EXPECT_THAT(yaml_refusal("a: 1\n~: 2\n"), HasSubstr("doc.yaml:2: a key is empty"));
  EXPECT_EQ(*yaml("5: x").find("5")->get_if<std::string>(), "x");
}

TEST(Yaml, NamesTheLineOfASyntaxError) {
  EXPECT_THAT(yaml_refusal("a: 1\nb: [1, 2\nc: 3\n"), HasSubstr("doc.yaml:"));
  EXPECT_THAT(yaml_refusal("a: 1\nb: \"open\nc: 3\n"), HasSubstr("doc.yaml:"));
  EXPECT_THAT(yaml_refusal("a: 1\n  b: 2\n"), HasSubstr("doc.yaml:2: "));
  EXPECT_THAT(yaml_refusal("a: b: c\n"), HasSubstr("doc.yaml:1: "));
  EXPECT_THAT(yaml_refusal("a: *nowhere\n"), HasSubstr("doc.yaml:1: "));
}

TEST(Yaml, ReadsWindowsLineEndsAndAByteOrderMark) {
  const Value document = yaml(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: text\r\n");
  EXPECT_EQ(*document.find("a")->get_if<std::int64_t>(), 1);
  EXPECT_EQ(*document.find("b")->get_if<std::string>(), "text");
  EXPECT_EQ(document.find("b")->line(), 2);
}

TEST(Yaml, ReadsAnEmptyDocumentAsNothing) {
  EXPECT_TRUE(yaml("").is_null());
  EXPECT_TRUE(yaml("# a comment\n").is_null());
}

TEST(Json, KeepsTheLineOfEveryKeyAndValue) {
  const Value document =
      parse_json("{\n  \"a\": 1\n,\n  \"b\": [true,\n    null, \"x\"],\n  \"c\": 2.5\n}\n", "doc.json");
  EXPECT_EQ(document.find("a")->line(), 2);
  EXPECT_EQ((*document.get_if<Value::Map>())[1].line, 4);
  const auto& list = *document.find("b")->get_if<Value::List>();
  EXPECT_EQ(list[0].line(), 4);
  EXPECT_EQ(list[1].line(), 5);
  EXPECT_TRUE(list[1].is_null());
  EXPECT_EQ(list[2].line(), 5);
  EXPECT_EQ(document.find("c")->line(), 6);
  EXPECT_EQ(*document.find("c")->get_if<double>(), 2.5);
}

TEST(Json, RefusesEqualKeysWithBothLines) {
  EXPECT_EQ(json_refusal("{\"a\": 1,\n\"a\": 2}"), "doc.json:2: the key 'a' was already given on line 1");
}

TEST(Json, NamesTheLineOfASyntaxError) {
  EXPECT_THAT(json_refusal("{\n \"a\": 1,\n}"), HasSubstr("doc.json:3: syntax error"));
  EXPECT_THAT(json_refusal("{\n \"a\": [1, 2,],\n}"), HasSubstr("doc.json:2: syntax error"));
  EXPECT_THAT(json_refusal("{\n \"a\": \"open\n}"), HasSubstr("doc.json:2: syntax error"));
  EXPECT_THAT(json_refusal("{\"a\": 1} x"), HasSubstr("doc.json:1: "));
  EXPECT_THAT(json_refusal("{\"a\": NaN}"), HasSubstr("doc.json:1: "));
  EXPECT_THAT(json_refusal("{\"a\": 1e999}"), HasSubstr("doc.json:1: "));
  EXPECT_THAT(json_refusal("{\"a\": \"\\ud800\"}"), HasSubstr("doc.json:1: "));
  EXPECT_THAT(json_refusal(""), HasSubstr("doc.json:1: "));
}

TEST(Json, ReadsWholeNumbersBeyond64BitsAsNumbers) {
  const Value document = parse_json("[18446744073709551615, 9223372036854775807]", "doc.json");
  const auto& list = *document.get_if<Value::List>();
  EXPECT_EQ(*list[0].get_if<double>(), 18446744073709551615.0);
  EXPECT_EQ(*list[1].get_if<std::int64_t>(), INT64_MAX);
}

TEST(Document, TellsJsonFromYamlByTheFirstCharacter) {
  EXPECT_EQ(*parse_document(" {\"a\": 1}", "doc").find("a")->get_if<std::int64_t>(), 1);
  EXPECT_EQ(*parse_document("a: 1", "doc").find("a")->get_if<std::int64_t>(), 1);
}

TEST(Document, TellsJsonFromYamlByTheNameOfTheFile) {
  const TemporaryFolder folder;
  write_file(folder.path() / "a.json", "{\"a\": 1}");
  write_file(folder.path() / "a.yaml", "{a: 1}");
  write_file(folder.path() / "wrong.json", "a: 1");
  EXPECT_NE(load_document(folder.path() / "a.json").find("a"), nullptr);
  EXPECT_NE(load_document(folder.path() / "a.yaml").find("a"), nullptr);
  EXPECT_THAT(refusal([&] { load_document(folder.path() / "wrong.json"); }), HasSubstr("wrong.json:1: "));
}

TEST(Document, RefusesAMissingAndAnEmptyFileByName) {
  const TemporaryFolder folder;
  write_file(folder.path() / "empty.yaml", "# nothing\n");
  EXPECT_THAT(refusal([&] { load_document(folder.path() / "empty.yaml"); }),
              HasSubstr("empty.yaml: the document is empty"));
  EXPECT_THAT(refusal([&] { load_document(folder.path() / "none.yaml"); }), HasSubstr("none.yaml"));
}

TEST(SetPath, SetsReplacesAndMakesWhatIsMissing) {
  Value document = yaml("cards:\n  model:\n    config: {epochs: 50, hidden_layers: [8, 4]}\n");
  set_path(document, "cards.model.config.epochs=5");
  set_path(document, "cards.model.config.hidden_layers.1=16");
  set_path(document, "cards.train.config.device=cpu");
  set_path(document, "cards.model.config.name=a=b");
  EXPECT_EQ(to_json(document),
            nlohmann::json::parse(
                R"({"cards": {"model": {"config": {"epochs": 5, "hidden_layers": [8, 16], "name": "a=b"}},
                                      "train": {"config": {"device": "cpu"}}}})"));
  EXPECT_EQ(document.find("cards")->find("model")->find("config")->find("epochs")->line(), 3);
}

TEST(SetPath, ReadsTheValueAsYaml) {
  Value document;
  set_path(document, "a=[1, 2.5, x]");
  set_path(document, "b=");
  set_path(document, "c='5'");
  EXPECT_EQ(to_json(document), nlohmann::json::parse(R"({"a": [1, 2.5, "x"], "b": null, "c": "5"})"));
}

TEST(SetPath, RefusesWhatCannotBeSet) {
  Value document = yaml("a: text\nl: [1]\n");
  EXPECT_THAT(refusal([&] { set_path(document, "a"); }), HasSubstr("epochs=5"));
  EXPECT_THAT(refusal([&] { set_path(document, "=5"); }), HasSubstr("epochs=5"));
  EXPECT_THAT(refusal([&] { set_path(document, "a..b=5"); }), HasSubstr("empty"));
  EXPECT_THAT(refusal([&] { set_path(document, "a.b=5"); }), HasSubstr("is the text 'text'"));
  EXPECT_THAT(refusal([&] { set_path(document, "l.1=5"); }), HasSubstr("a list of length 1"));
  EXPECT_THAT(refusal([&] { set_path(document, "l.x=5"); }), HasSubstr("a list of length 1"));
  EXPECT_THAT(refusal([&] { set_path(document, "l.-1=5"); }), HasSubstr("a list of length 1"));
  EXPECT_THAT(refusal([&] { set_path(document, "l=[1"); }), HasSubstr("--set l"));
  std::string deep = "a";
  for (int i = 0; i < 100; ++i) deep += ".a";
  EXPECT_THAT(refusal([&] { set_path(document, deep + "=1"); }), HasSubstr("more than 64 parts"));
  EXPECT_EQ(to_json(document), nlohmann::json::parse(R"({"a": "text", "l": [1]})"));
}

}  // namespace
}  // namespace stoker::config
