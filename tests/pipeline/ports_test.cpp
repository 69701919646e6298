// Inputs that may be left out or take several connections, and arrays that go from card to card.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "pipeline/card/port_files.h"
#include "pipeline/cards/card_settings.h"
#include "pipeline/watchers.h"

namespace stoker {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using Arrays = std::shared_ptr<const NamedArrays>;
using Report = std::shared_ptr<const nlohmann::json>;

struct Number {
  std::int64_t value = 0;
};
config::Fields fields(Number& c) {
  return {config::field("value", c.value, "What it puts out")};
}

PortValues put_out(const CardContext& context) {
  const std::int64_t value = settings_of<Number>(context.config).value;
  const NamedArrays arrays{{"values", Array::from<std::int64_t>({{value}}, {1})}};
  return {{"number", std::make_shared<const NamedArrays>(arrays)},
          {"title", std::make_shared<const nlohmann::json>(fmt::format("title {}", value))}};
}

// What the card `gather` was given, each time that it ran.
std::vector<std::string>& gathered() {
  static std::vector<std::string> all;
  return all;
}

PortValues gather(const CardContext& context) {
  std::string text;
  for (const Arrays& each : all_inputs<Arrays>(context, "numbers"))
    text += fmt::format("{} ", find_array(*each, "values").as<std::int64_t>()[0]);
  const Report* title = optional_input<Report>(context, "title");
  text += title == nullptr ? "untitled" : (*title)->get<std::string>();
  text += fmt::format(", {} more", all_inputs<Report>(context, "more").size());
  gathered().push_back(text);
  return {{"text", std::make_shared<const nlohmann::json>(text)}};
}

const CardTypes& own_types() {
  static const CardTypes types{
      {.name = "number",
       .title = "Number",
       .help = "Puts out a number.",
       .inputs = {},
       .outputs = {{"number", PortType::arrays, "The number"}, {"title", PortType::report, "Its title"}},
       .file_settings = {},
       .describe = config::described<Number>,
       .check = config::checked<Number>,
       .run = put_out},
      {.name = "gather",
       .title = "Gather",
       .help = "Gathers numbers.",
       .inputs = {{"numbers", PortType::arrays, "Numbers", Rows::read, Takes::at_least_one},
                  {"title", PortType::report, "A title", Rows::read, Takes::at_most_one},
                  {"more", PortType::report, "More", Rows::read, Takes::any_number}},
       .outputs = {{"text", PortType::report, "What was given"}},
       .file_settings = {},
       .describe = config::described<Number>,
       .check = config::checked<Number>,
       .run = gather}};
  return types;
}

std::string text_with(const std::string& inputs) {
  return "version: 1\nname: numbers\ncards:\n"
         "  one: { type: number, config: { value: 1 } }\n"
         "  two: { type: number, config: { value: 2 } }\n"
         "  all: { type: gather, inputs: { " +
         inputs + " } }\n";
}

Document own_document(const std::string& text) {
  return read_document(config::parse_document(text, "own.yaml"), "own.yaml", ".", own_types());
}

std::string own_refusal(const std::string& inputs) {
  try {
    own_document(text_with(inputs));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class Ports : public testing::Test {
 protected:
  void SetUp() override { gathered().clear(); }
  Watched run(const std::string& inputs) const {
    return run_watched(own_document(text_with(inputs)), options_in(folder_.path()));
  }
  TemporaryFolder folder_;
};

TEST_F(Ports, TakeSeveralConnectionsInTheOrderOfTheDocument) {
  run("numbers: [two.number, one.number, two.number], title: one.title");
  EXPECT_THAT(gathered(), ElementsAre("2 1 2 title 1, 0 more"));
}

TEST_F(Ports, MayBeLeftOut) {
  run("numbers: [one.number]");
  run("numbers: one.number, more: [one.title, two.title]");
  EXPECT_THAT(gathered(), ElementsAre("1 untitled, 0 more", "1 untitled, 2 more"));
}

TEST_F(Ports, GiveACardItsIdentityByWhatIsConnectedAndInWhichOrder) {
  run("numbers: [one.number, two.number]");
  EXPECT_THAT(run("numbers: [one.number, two.number]").watcher.reused,
              UnorderedElementsAre("one", "two", "all"));
  for (const char* other : {"numbers: [two.number, one.number]", "numbers: [one.number]",
                            "numbers: [one.number, two.number], title: one.title",
                            "numbers: [one.number, two.number, two.number]",
                            "numbers: [one.number, two.number], more: one.title"})
    EXPECT_THAT(run(other).watcher.ran, ElementsAre("all")) << other;
  EXPECT_THAT(gathered(),
              ElementsAre("1 2 untitled, 0 more", "2 1 untitled, 0 more", "1 untitled, 0 more",
                          "1 2 title 1, 0 more", "1 2 2 untitled, 0 more", "1 2 untitled, 1 more"))
      << "arrays come from the cache as they were put there";
}

TEST_F(Ports, KeepTheirConnectionsInTheDocumentOfTheRun) {
  const Document document = own_document(text_with("title: two.title, numbers: [two.number, one.number]"));
  const Document again = own_document(document.to_yaml());
  EXPECT_EQ(again.to_yaml(), document.to_yaml());
  EXPECT_THAT(connections_to(again.cards.back(), "numbers").front().card, "two");
  RunOptions options = options_in(folder_.path());
  options.resume = run_watched(document, options).summary.folder;
  EXPECT_THAT(run_watched(document, options).watcher.reused, UnorderedElementsAre("one", "two", "all"));
}

TEST_F(Ports, AreRefusedWhereTheyDoNotFit) {
  EXPECT_EQ(own_refusal("title: one.title"),
            "own.yaml:6: cards.all.inputs.numbers: missing; gather needs arrays here");
  EXPECT_EQ(own_refusal("numbers: [one.number, one.title, three.number, 4]"),
            "own.yaml:6: cards.all.inputs.numbers.3: must name a card's output as CARD.OUTPUT, such as "
            "load.dataset; found the number 4\n"
            "own.yaml:6: cards.all.inputs.numbers.1: needs arrays, but one.title is a report\n"
            "own.yaml:6: cards.all.inputs.numbers.2: there is no card 'three'");
  EXPECT_THAT(own_refusal("numbers: [\n one.number,\n one.title]"), HasSubstr("own.yaml:8: cards.all"));
  EXPECT_EQ(own_refusal("numbers: one.number, title: [one.title, two.title]"),
            "own.yaml:6: cards.all.inputs.title: takes one connection, written as CARD.OUTPUT; found a list "
            "of 2");
  EXPECT_EQ(own_refusal("numbers: []"),
            "own.yaml:6: cards.all.inputs.numbers: is an empty list; name a card's output as CARD.OUTPUT, or "
            "leave it out");
  EXPECT_EQ(own_refusal("numbers: one.number, mor: [one.title]"),
            "own.yaml:6: cards.all.inputs.mor: gather has no such input; did you mean more?");
}

TEST_F(Ports, OfTheSeedFormTakeSeveralEdges) {
  const Document document = own_document(R"({"nodes": [
    {"id": "one", "type": "number"}, {"id": "two", "type": "number"}, {"id": "all", "type": "gather"}],
    "edges": [{"source": "two", "source_output": "number", "target": "all", "target_input": "numbers"},
              {"source": "one", "source_output": "number", "target": "all", "target_input": "numbers"}]})");
  const auto numbers = connections_to(document.cards.back(), "numbers");
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_EQ(numbers[0].card, "two");
  EXPECT_EQ(numbers[1].card, "one");
}

TEST_F(Ports, AreDescribedInTheSchemaAndTheReference) {
  const nlohmann::json inputs = document_schema(own_types())
                                    .at("/properties/cards/additionalProperties/allOf/1/then"_json_pointer)
                                    .at("properties")
                                    .at("inputs");
  EXPECT_EQ(inputs.at("required"), nlohmann::json::array({"numbers"}));
  EXPECT_EQ(inputs.at("/properties/numbers/anyOf/1/minItems"_json_pointer), 1);
  EXPECT_EQ(inputs.at("/properties/title/type"_json_pointer), "string");
  EXPECT_THAT(reference_page(own_types()), AllOf(HasSubstr("| `numbers` | arrays, one or more | Numbers |"),
                                                 HasSubstr("| `title` | report, optional | A title |"),
                                                 HasSubstr("| `more` | report, any number | More |")));
}

TEST_F(Ports, RefuseArraysThatAreDamaged) {
  const Output port{"number", PortType::arrays, ""};
  const Array shaped(DType::float32, {3, 2, 4});
  write_port_value(std::make_shared<const NamedArrays>(NamedArrays{{"cube", shaped}}), port, folder_.path());
  const Arrays read = std::get<Arrays>(read_port_value(port, folder_.path()));
  EXPECT_EQ(find_array(*read, "cube").shape(), (Shape{3, 2, 4}));
  const auto file = folder_.path() / port_file_name(port);
  write_file(file, read_file(file, 10'000).substr(0, 40));
  EXPECT_THROW(read_port_value(port, folder_.path()), Error);
}

}  // namespace
}  // namespace stoker
