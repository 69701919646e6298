#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "config/refusal.h"

// Documents made to hurt. Without the bounds most of these would take minutes, gigabytes or the stack;
// the time limit of the test program is what notices.
namespace stoker::config {
namespace {

using testing::HasSubstr;

std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

TEST(Hostile, BillionLaughsAreRefusedWithTheLine) {
  std::string text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + repeated(alias + ", ", 9) + alias +
            "]\n";
  }
  EXPECT_THAT(yaml_refusal(text), HasSubstr("doc.yaml:5: the document contains more than 200,000 values"));
}

TEST(Hostile, ManyCopiesOfALongTextAreRefused) {
  const std::string text =
      "a: &a " + std::string(1'000'000, 'x') + "\nb: [" + repeated("*a, ", 1000) + "*a]\n";
  EXPECT_THAT(yaml_refusal(text), HasSubstr("doc.yaml:2: anchors and aliases expand to more than 4"));
}

TEST(Hostile, ALongKeyUnderAnAliasCountsToo) {
  const std::string text =
      "a: &a {? " + std::string(1'000'000, 'k') + " : 1}\nb: [" + repeated("*a, ", 1000) + "*a]\n";
  EXPECT_THAT(yaml_refusal(text), HasSubstr("doc.yaml:"));
}

TEST(Hostile, AnchorsInsideOfAnchorsAreRefused) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "&a" + std::to_string(i) + " [";
  text += repeated("1,", 150'000) + repeated("]", 60);
  EXPECT_THAT(yaml_refusal(text), HasSubstr("more than 200,000 values"));
}

TEST(Hostile, AnAliasOfItselfIsRefused) {
  EXPECT_THAT(yaml_refusal("a: 1\nb: &b [*b]\n"),
              HasSubstr("doc.yaml:2: an alias refers to the value that contains it"));
  EXPECT_THAT(yaml_refusal("&b {x: {y: *b}}\n"),
              HasSubstr("doc.yaml:1: an alias refers to the value that contains it"));
}

TEST(Hostile, AliasesCannotDeepenTheDocumentBeyondTheBound) {
  std::string text = "a0: &a0 [1]\n";
  for (int i = 1; i < 100; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_THAT(yaml_refusal(text),
              HasSubstr("doc.yaml:64: lists and maps are nested more than 64 levels deep"));
}

TEST(Hostile, DeepBracketsAreRefused) {
  for (const std::size_t depth : {65U, 1'000U, 100'000U, 4'000'000U}) {
    EXPECT_THAT(yaml_refusal(repeated("[", depth)), HasSubstr("doc.yaml:1: ")) << depth;
    EXPECT_THAT(yaml_refusal(repeated("{", depth)), HasSubstr("doc.yaml:1: ")) << depth;
    EXPECT_THAT(json_refusal(repeated("[", depth)), HasSubstr("doc.json:1: lists and maps are nested"))
        << depth;
  }
  EXPECT_THAT(yaml_refusal(repeated("[", 65) + repeated("]", 65)),
              HasSubstr("nested more than 64 levels deep"));
  EXPECT_THAT(yaml_refusal(repeated("{a: ", 100'000)), HasSubstr("doc.yaml:1: "));
  EXPECT_THAT(yaml_refusal(repeated("[\n", 100'000)), HasSubstr("doc.yaml:"));
  EXPECT_THAT(json_refusal(repeated("{\"a\":\n", 100'000)),
              HasSubstr("doc.json:65: lists and maps are nested"));
  EXPECT_EQ(yaml_refusal(repeated("[", 64) + repeated("]", 64)), "");
  EXPECT_EQ(json_refusal(repeated("[", 64) + repeated("]", 64)), "");
}

TEST(Hostile, DeepIndentationIsRefused) {
  std::string text;
  for (std::size_t i = 0; i < 2'000; ++i) text += std::string(i, ' ') + "a:\n";
  EXPECT_THAT(yaml_refusal(text), HasSubstr("doc.yaml:65: lists and maps are nested"));
  EXPECT_THAT(yaml_refusal(repeated("- ", 1'000'000)), HasSubstr("doc.yaml:1: lists and maps are nested"));
  EXPECT_THAT(yaml_refusal(repeated("? ", 1'000'000)), HasSubstr("doc.yaml:1: "));
}

TEST(Hostile, TooManyValuesAreRefused) {
  EXPECT_THAT(yaml_refusal("[" + repeated("1,", 300'000) + "1]"), HasSubstr("more than 200,000 values"));
  EXPECT_THAT(yaml_refusal(repeated("- 1\n", 300'000)),
              HasSubstr("doc.yaml:200000: the document contains more than"));
  EXPECT_THAT(json_refusal("[" + repeated("1,\n", 300'000) + "1]"),
              HasSubstr("doc.json:200000: the document contains"));
}

TEST(Hostile, ManyKeysAreReadInReasonableTime) {
  std::string text;
  for (int i = 0; i < 150'000; ++i) text += "key" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(parse_yaml(text, "doc.yaml").get_if<Value::Map>()->size(), 150'000U);
}

TEST(Hostile, LargeDocumentsAreRefusedBySize) {
  const std::string text = "a: " + std::string(10'000'000, 'x');
  EXPECT_EQ(yaml_refusal(text), "doc.yaml: the document takes 9.5 MiB, more than the 4.0 MiB allowed");
  EXPECT_THAT(json_refusal("\"" + text + "\""), HasSubstr("doc.json: the document takes"));
  const TemporaryFolder folder;
  write_file(folder.path() / "large.yaml", text);
  EXPECT_THAT(refusal([&] { load_document(folder.path() / "large.yaml"); }), HasSubstr("large.yaml"));
}

TEST(Hostile, LongScalarsAreReadWithinTheBound) {
  const std::string text(4'000'000, 'x');
  EXPECT_EQ(*parse_yaml("a: " + text, "doc.yaml").find("a")->get_if<std::string>(), text);
  EXPECT_EQ(*parse_yaml("a: \"" + text + "\"", "doc.yaml").find("a")->get_if<std::string>(), text);
  EXPECT_EQ(*parse_json("{\"a\": \"" + text + "\"}", "doc.json").find("a")->get_if<std::string>(), text);
  EXPECT_NE(parse_yaml("a: " + std::string(1'000'000, '9'), "doc.yaml").find("a")->get_if<double>(), nullptr);
}

TEST(Hostile, InvalidUtf8IsRefusedWithTheLine) {
  for (const std::string bytes :
       {"\xFF", "\xC0\x80", "\xE9", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80", "\xE2\x82"}) {
    EXPECT_THAT(yaml_refusal("a: 1\nb: " + bytes), HasSubstr("doc.yaml:2: not valid UTF-8"));
    EXPECT_THAT(json_refusal("{\"a\": 1,\n\"b\": \"" + bytes + "\"}"),
                HasSubstr("doc.json:2: not valid UTF-8"));
  }
  EXPECT_THAT(yaml_refusal(std::string("\xFF\xFE"
                                       "a\0:\0",
                                       6)),
              HasSubstr("doc.yaml:1: not valid UTF-8"));
}

TEST(Hostile, ControlCharactersAreRefusedWithTheLine) {
  EXPECT_THAT(yaml_refusal(std::string("a: 1\nb: x\0y\n", 12)),
              HasSubstr("doc.yaml:2: a document must not contain the control character 0x00"));
  EXPECT_THAT(json_refusal(std::string("{\"a\":\n\"x\0y\"}", 12)),
              HasSubstr("doc.json:2: a document must not contain the control character 0x00"));
  EXPECT_THAT(yaml_refusal("a: 1\nb: x\x04 y\nc: 1\n"),
              HasSubstr("doc.yaml:2: a document must not contain the control character 0x04"));
  EXPECT_THAT(yaml_refusal("a: \x1B[31m\n"), HasSubstr("0x1b"));
}

TEST(Hostile, EscapedNulCharactersAreRefused) {
  EXPECT_THAT(yaml_refusal("a: 1\nb: \"x\\0y\"\n"), HasSubstr("doc.yaml:2: a text value contains a NUL"));
  EXPECT_THAT(yaml_refusal("a: 1\n\"x\\0y\": 2\n"), HasSubstr("doc.yaml:2: a key contains a NUL"));
  EXPECT_THAT(json_refusal("{\"a\":\n\"x\\u0000y\"}"), HasSubstr("doc.json:2: a text value contains a NUL"));
}

TEST(Hostile, TabsForIndentationAreRefused) {
  EXPECT_THAT(yaml_refusal("a:\n\tb: 1\n"), HasSubstr("doc.yaml:"));
  EXPECT_THAT(yaml_refusal("a:\n  b: 1\n\tc: 2\n"), HasSubstr("doc.yaml:"));
  EXPECT_THAT(json_refusal("{\t\"a\":\t1}"), "");
}

TEST(Hostile, UnterminatedThingsAreRefused) {
  for (const char* text : {"a: \"x",
                           "a: 'x",
                           "a: [1, 2",
                           "a: {b: 1",
                           "\"",
                           "'",
                           "[",
                           "{",
                           "a: &",
                           "a: *",
                           "a: !<",
                           "? ",
                           "a: |9x\n",
                           "%",
                           "%YAML 9.0\n---\na: 1",
                           "a: \"\\",
                           "a: \"\\x",
                           "a: \"\\u12",
                           "a: \"\\ud800\"",
                           "a: \"\\uFFFFFFFF\"",
                           "a: \"\\UFFFFFFFF\""}) {
    const std::string message = yaml_refusal(text);
    EXPECT_TRUE(message.empty() || message.starts_with("doc.yaml:")) << text << ": " << message;
  }
  for (const char* text : {"a: \"x", "a: 'x", "a: [1, 2", "a: {b: 1", "[", "{"})
    EXPECT_NE(yaml_refusal(text), "") << text;
  for (const char* text :
       {"{", "[", "\"", "{\"a\"", "{\"a\":", "{\"a\":1", "[1,", "tru", "-", "1.", "1e", "\"\\", "\"\\u12"}) {
    EXPECT_THAT(json_refusal(text), HasSubstr("doc.json:1: ")) << text;
  }
}

TEST(Hostile, AQuoteThatRunsIntoTheEndOfTheFileIsRefused) {
  const std::string never_closed = "the quote that opens here is never closed";
  for (const std::string open :
       {"\"open\nd: 3\n", "'open\nd: 3\n", "'it''\n", "\"a\\\"\n", "&x \"open\n", "!!str &x 'open\n"}) {
    EXPECT_EQ(yaml_refusal("é: 1\r\nc: " + open), "doc.yaml:2: " + never_closed) << open;
  }
  for (const std::string closed : {"\"a\"\n", "'it''s'\n", "''\n", "'a'", "\"\\\\\"\n", "&x \"a\nb\"\n",
                                   "it's\n", "a \"b\n", "!!str 'x'\n"}) {
    EXPECT_EQ(yaml_refusal("é: 1\r\nc: " + closed), "") << closed;
  }
}

// Every document cut anywhere, or with a character replaced, is read or refused, and nothing else happens.
TEST(Hostile, DamagedDocumentsAreReadOrRefused) {
  const std::string document =
      "%YAML 1.2\n---\n# c\ncards: &c\n  - {a: [1, 'x', \"y\\n\"], b: !!str 5}\n  - ? k\n    : |+\n      "
      "text\n\n    z: >-\n"
      "      folded\n  - *c0\nlast: {x: *c, <<: 1}\n...\n";
  const std::string marks = "[]{}:,-?&*!|>'\"%@`#\n\t \\~<=0";
  const auto is_handled = [](const std::string& text) {
    const std::string message = yaml_refusal(text);
    EXPECT_TRUE(message.empty() || message.starts_with("doc.yaml:")) << text << "\n" << message;
  };
  for (std::size_t i = 0; i <= document.size(); ++i) is_handled(document.substr(0, i));
  for (std::size_t i = 0; i < document.size(); ++i) {
    for (const char mark : marks) {
      std::string damaged = document;
      damaged[i] = mark;
      is_handled(damaged);
      is_handled(document.substr(0, i) + mark + document.substr(i));
    }
  }
}

}  // namespace
}  // namespace stoker::config
