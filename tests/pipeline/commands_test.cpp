// Programs of the operator's own as cards: what they are given, what they may put out, and when they run
// again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/table/table.h"
#include "pipeline/card/card.h"
#include "pipeline/commands_place.h"

namespace stoker {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const std::string passes_rows_on = "cp $input $output";

TEST(Commands, PutOutTheRowsThatTheirProgramWrites) {
  CommandsPlace place;
  place.command("echo begins; " + passes_rows_on + "; echo 'warning: look at this' >&2");
  const Watched run = place.run();
  EXPECT_THAT(run.watcher.ran, Contains("own"));
  EXPECT_THAT(run.watcher.notes, Contains("own: begins"));
  EXPECT_THAT(run.watcher.warnings, Contains("own: look at this"));
  const std::string rows = read_file(run.summary.folder / "previews" / "own.dataset.json", 1U << 20);
  EXPECT_THAT(rows, AllOf(HasSubstr("19.5"), HasSubstr("word")));
}

TEST(Commands, GetNothingButWhatIsTheirs) {
  CommandsPlace place;
  setenv("STOKER_SECRET_OF_TEST", "secret", 1);
  place.command(
      "echo files: $(ls -A | wc -l); echo home: $([ \"$HOME\" = \"$PWD\" ] && echo here)\n"
      "echo secret: $STOKER_SECRET_OF_TEST; echo own: $OWN; read line || echo input: none\n"
      "for each in /proc/$$/fd/*; do readlink $each; done > open\n"
      "echo strange: $(grep -vc -e own.sh -e pipe: -e /dev/null -e /open open); echo core: $(ulimit -c)\n" +
          passes_rows_on,
      "environment: { OWN: variable }");
  const std::vector<std::string> notes = place.run().watcher.notes;
  for (const char* expected : {"own: files: 0", "own: home: here", "own: secret:", "own: own: variable",
                               "own: input: none", "own: core: 0", "own: strange: 0"})
    EXPECT_THAT(notes, Contains(expected));
}

TEST(Commands, ReadTheirSettingsWithDefaultsWrittenOut) {
  CommandsPlace place;
  place.command("tr -d ' \\n' < $1; echo; " + passes_rows_on,
                "arguments: []\nsettings:\n"
                "  period: { type: number, default: 24, least: 1, help: How long }\n"
                "  names: { type: texts, default: [a], help: Which }\n"
                "  way: { type: text, choices: [up, down], help: Where to }\n"
                "  note: { type: text, default: null, help: What else }\n");
  const std::vector<std::string> notes = place.run("way: up, period: 7").watcher.notes;
  EXPECT_THAT(notes,
              Contains(HasSubstr(R"("settings":{"names":["a"],"note":null,"period":7.0,"way":"up"})")));
  EXPECT_THAT(notes, Contains(HasSubstr(R"("inputs":{"dataset":"/)")));
  try {
    place.document("way: sideways, period: 0, nams: [b]");
    FAIL() << "settings were not checked";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("own.yaml:5: cards.own.config.period: the number 0 is out of range"),
                      HasSubstr("'sideways' is not a valid choice"),
                      HasSubstr("nams: unknown setting; did you mean names?")));
  }
}

TEST(Commands, AreTypesOfCardsLikeAnyOther) {
  CommandsPlace place;
  place.command(passes_rows_on,
                "version: 3\nsettings: { depth: { type: integer, default: 2, help: How deep } }\n");
  const CardTypes types = with_commands(place.commands());
  EXPECT_EQ(types.size(), built_in_card_types().size() + 1);
  const CardType* type = find_card_type(types, "command:own");
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(type->version, 3);
  EXPECT_THAT(reference_page(types),
              AllOf(HasSubstr("## command:own"), HasSubstr("| `depth` | whole number | `2` |")));
  EXPECT_THAT(document_schema(types).dump(), HasSubstr(R"({"const":"command:own"})"));
}

TEST(Commands, AreNotThereUnlessTheOperatorSaysSo) {
  EXPECT_THAT(
      refusal_of("version: 1\ncards: { own: { type: command:own } }"),
      HasSubstr("'command:own' is not a card type; no commands are allowed here: their folder is named "
                "by --commands or STOKER_COMMANDS"));
  CommandsPlace place;
  place.command(passes_rows_on);
  const CardTypes types = with_commands(place.commands());
  try {
    read_document(config::parse_yaml("version: 1\ncards: { own: { type: command:owm } }", "a.yaml"), "a.yaml",
                  ".", types);
    FAIL() << "an unknown command was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean command:own?"));
  }
}

TEST(Commands, MayMakeRowsOfFilesAloneAndTakeSeveralTables) {
  CommandsPlace place;
  place.command("cp $(dirname $0)/kept.arrow $output; grep -c arrow $1", "files: [kept.arrow]\ninputs: {}\n");
  write_file(place.commands() / "both.yaml",
             "title: Both\nhelp: Of both\nprogram: both.sh\n"
             "inputs: { parts: { several: true, help: Rows }, rest: { optional: true, help: Rows } }\n"
             "outputs: { dataset: { help: Rows } }\n");
  place.write_program("tr -d ' \\n' < $1; echo; cp $here/inputs/parts_2.arrow $output", "both.sh");
  const std::string load = "{ type: data_load, config: { source: sample, sample_rows: 50 } }";
  const CardTypes types = built_in_card_types();
  const Document reads = read_document(
      config::parse_yaml("version: 1\ncards: { load: " + load + " }", "a.yaml"), "a.yaml", ".", types);
  const Watched made = run_watched(reads, place.options());
  for (const auto& each : std::filesystem::recursive_directory_iterator(place.folder() / "runs" / ".cache"))
    if (each.path().filename() == "dataset.arrow")
      std::filesystem::copy_file(each.path(), place.commands() / "kept.arrow");
  const CardTypes all = with_commands(place.commands());
  const Document document = read_document(
      config::parse_yaml(
          "version: 1\ncards:\n  own: { type: command:own }\n  load: " + load +
              "\n  both: { type: command:both, inputs: { parts: [own.dataset, load.dataset] } }\n",
          "a.yaml"),
      "a.yaml", ".", all);
  const Watched run = run_watched(document, place.options());
  EXPECT_THAT(run.watcher.ran, testing::IsSupersetOf({"own", "both"}));
  EXPECT_THAT(run.watcher.notes, Contains(AllOf(HasSubstr(R"(/inputs/parts.arrow",")"),
                                                HasSubstr(R"(/inputs/parts_2.arrow"],"rest":null)"))));
}

TEST(Commands, GetModelsAsFoldersAndReportsAsJson) {
  CommandsPlace place;
  place.command("ls $here/inputs/model; grep -c rmse $here/inputs/report.json; cp $input $output",
                "inputs:\n  dataset: { help: Rows }\n  model: { type: model, help: A model }\n"
                "  report: { type: report, help: Its metrics }\n");
  SmallPipeline pipeline;
  pipeline.more_cards =
      "  own: { type: command:own, inputs: { dataset: split.test_dataset, model: train.trained_model, "
      "report: "
      "evaluate.eval_report } }\n";
  const CardTypes types = with_commands(place.commands());
  const Watched run = run_watched(
      read_document(config::parse_yaml(pipeline.text(), "a.yaml"), "a.yaml", place.folder(), types),
      place.options());
  EXPECT_THAT(run.watcher.notes,
              testing::IsSupersetOf({"own: model.json", "own: model.safetensors", "own: 1"}));
}

TEST(Commands, DoNotTakeWindowsOfASeries) {
  CommandsPlace place;
  place.command(passes_rows_on);
  std::string text =
      "version: 1\ncards:\n  load: { type: data_load, config: { source: csv, path: rows.csv } }\n"
      "  windows: { type: windows, inputs: { dataset: load.dataset }, config: { length: 4, horizon: 1, "
      "target_column: x "
      "} }\n"
      "  own: { type: command:own, inputs: { dataset: windows.dataset } }\n";
  const CardTypes types = with_commands(place.commands());
  const Error error =
      failure_of(read_document(config::parse_yaml(text, "a.yaml"), "a.yaml", place.folder(), types),
                 place.options(), place.watcher);
  EXPECT_EQ(error.code(), ExitCode::wrong_request);
  EXPECT_THAT(error.what(), HasSubstr("put this card before the windows card"));
}

TEST(Commands, RunAgainOnlyWhenSomethingOfTheirsChanged) {
  CommandsPlace place;
  write_file(place.commands() / "words.txt", "one");
  const std::string declared =
      "files: [words.txt]\nsettings: { depth: { type: integer, default: 2, help: How deep } }\n";
  place.command(passes_rows_on, declared);
  EXPECT_THAT(place.run().watcher.ran, Contains("own"));
  EXPECT_THAT(place.run().watcher.reused, Contains("own"));
  EXPECT_THAT(place.run("depth: 3").watcher.ran, Contains("own"));
  write_file(place.commands() / "words.txt", "two");
  EXPECT_THAT(place.run().watcher.ran, Contains("own")) << "a file that it reads";
  place.write_program(passes_rows_on + " # once more");
  EXPECT_THAT(place.run().watcher.ran, Contains("own")) << "the program";
  place.declare(declared + "version: 2\n");
  EXPECT_THAT(place.run().watcher.ran, Contains("own")) << "the declaration";
  write_file(place.commands() / "words.txt", "one");
  place.command(passes_rows_on, declared);
  EXPECT_THAT(place.run().watcher.reused, Contains("own")) << "all as it was";
}

TEST(Commands, ThatChangeTheirOwnFilesFail) {
  CommandsPlace place;
  place.command(passes_rows_on + "; echo '# more' >> $0");
  EXPECT_THAT(place.failure().what(), HasSubstr("the files of command own were changed while it ran"));
}

TEST(Commands, ThatFailSayTheirLastWords) {
  CommandsPlace place;
  place.command(
      "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i; done; printf 'bad \\033[2J bytes \\377'; exit "
      "3");
  const Error error = place.failure();
  EXPECT_EQ(error.code(), ExitCode::run_failed);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("card own: command own ended with exit code 3; its last words:\nline 4\n"),
                    HasSubstr("line 12\nbad \\x1b[2J bytes \\xff"), Not(HasSubstr("line 3\n"))));
  place.command("kill -SEGV $$");
  EXPECT_THAT(place.failure().what(),
              HasSubstr("was ended by signal 11 (Segmentation fault); it said nothing"));
  EXPECT_TRUE(std::filesystem::exists(place.watcher.run_folder / "run.json")) << "the record of it stays";
}

TEST(Commands, WhatTheyPutOutIsChecked) {
  CommandsPlace place;
  struct Case {
    std::string words;
    std::string declared;
    std::string message;
  };
  const std::string output = "outputs: { dataset: { help: Rows, ";
  for (const Case& each :
       {Case{"true", "", "output dataset of command own was not written"},
        Case{"echo nonsense > $output", "", "output dataset of command own is not a readable Arrow IPC"},
        Case{": > $output", "", "output dataset of command own"},
        Case{"head -c 300 $input > $output", "", "output dataset of command own is not a readable Arrow IPC"},
        Case{"ln -s /etc/passwd $output", "", "is not a plain file"},
        Case{"mkfifo $output", "", "is not a plain file"}, Case{"mkdir $output", "", "is not a plain file"},
        Case{passes_rows_on, output + "most_rows: 19 } }\n", "has 20 rows; its declaration allows 19"},
        Case{passes_rows_on, output + "columns: { x: number, word: text, words: any } } }\n",
             "has no column 'words', which its declaration promises; did you mean word?"},
        Case{passes_rows_on, output + "columns: { word: time } } }\n",
             "column 'word' has the type string; its declaration promises time"}}) {
    place.command(each.words, each.declared);
    const Error error = place.failure();
    EXPECT_EQ(error.code(), ExitCode::run_failed) << each.words;
    EXPECT_THAT(error.what(), HasSubstr(each.message)) << each.words;
    EXPECT_THAT(error.what(), Not(HasSubstr("/written/"))) << each.words;
  }
  place.command(passes_rows_on, output + "most_rows: 20, columns: { x: number, word: text } } }\n");
  EXPECT_THAT(place.run().watcher.ran, Contains("own"));
}

TEST(Commands, AreDeclaredWithoutMistakes) {
  CommandsPlace place;
  place.command(passes_rows_on,
                "settings:\n  Depth: { type: integer, help: How }\n"
                "  span: { type: number, default: 9, most: 5, help: How }\n"
                "  way: { type: integer, choices: [a], default: 1, help: How }\n"
                "  low: { type: text, least: 1, default: a, help: How }\n"
                "time_limit: 0\nprogramm: own.sh\nenvironment: { A: 1 }\n");
  write_file(place.commands() / "Other.yaml", "title: Other\n");
  write_file(place.commands() / "third.yaml",
             "title: Third\nhelp: Third\nprogram: ../rows.csv\noutputs: { dataset1: { type: model, help: "
             "Rows } }\n");
  write_file(place.commands() / "fourth.yaml",
             "title: Fourth\nhelp: Fourth\nprogram: fourth.sh\noutputs: {}\ninterpreter: /no/such\n");
  try {
    with_commands(place.commands());
    FAIL() << "all was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request);
    for (const char* expected :
         {"settings.Depth: is no name for a setting", "settings.span.default: the number 9 is out of range",
          "settings.way: has choices, but holds no text", "settings.low: has a least or most value",
          "time_limit: the number 0 is out of range", "programm: unknown setting; did you mean program?",
          "environment.A: must be the name of a variable", "a command is named by its file",
          "third.yaml:3: program: '../rows.csv' must lie in", "outputs.dataset1: is no name for an output",
          "outputs.dataset1.type: 'model' is not a valid choice", "'fourth.sh' is not there",
          "interpreter: /no/such is not there"})
      EXPECT_THAT(error.what(), HasSubstr(expected));
  }
  EXPECT_THROW(with_commands(place.folder() / "nowhere"), Error);
}

std::string refusal_of_folder(const std::filesystem::path& folder) {
  try {
    with_commands(folder);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Commands, AreThoseOfTheirOwnerAlone) {
  using std::filesystem::perms;
  CommandsPlace place;
  place.command(passes_rows_on);
  EXPECT_EQ(refusal_of_folder(place.commands()), "");
  for (const char* each : {"commands", "commands/own.sh", "commands/own.yaml"}) {
    const std::filesystem::path path = place.folder() / each;
    permissions(path, perms::group_write, std::filesystem::perm_options::add);
    EXPECT_THAT(refusal_of_folder(place.commands()), HasSubstr("may be changed by others than its owner"))
        << each;
    permissions(path, perms::group_write, std::filesystem::perm_options::remove);
  }
  permissions(place.commands() / "own.sh", perms(0644));
  EXPECT_THAT(refusal_of_folder(place.commands()), HasSubstr("may not be run; make it executable"));
  std::filesystem::remove(place.commands() / "own.sh");
  std::filesystem::create_symlink("/bin/sh", place.commands() / "own.sh");
  EXPECT_THAT(refusal_of_folder(place.commands()), HasSubstr("'own.sh' must lie in"));
}

TEST(Commands, AreLookedAtAgainBeforeTheyRun) {
  CommandsPlace place;
  place.command(passes_rows_on);
  const Document document = place.document();
  permissions(place.commands() / "own.sh", std::filesystem::perms(0777));
  const Error error = failure_of(document, place.options(), place.watcher);
  EXPECT_EQ(error.code(), ExitCode::wrong_request);
  EXPECT_THAT(error.what(), HasSubstr("may be changed by others than its owner"));
}

TEST(Commands, WarnOfWhatRowsAreNoLongerKnownBy) {
  CommandsPlace place;
  place.command(passes_rows_on);
  const CardTypes types = with_commands(place.commands());
  const Document document = read_document(
      config::parse_yaml(
          "version: 1\ncards:\n"
          "  load: { type: data_load, config: { source: csv, path: rows.csv } }\n"
          "  split: { type: data_split, inputs: { dataset: load.dataset }, config: { group_column: word } }\n"
          "  own: { type: command:own, inputs: { dataset: split.train_dataset } }\n",
          "a.yaml"),
      "a.yaml", place.folder(), types);
  EXPECT_THAT(
      run_watched(document, place.options()).watcher.warnings,
      Contains(AllOf(HasSubstr("kept them together by word"), HasSubstr("before the one that divides"))));
}

}  // namespace
}  // namespace stoker
