// Names and cells come from outside, and what they hold must not command the terminal of who looks at them.
#include <array>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/program.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string clear_screen = "\x1b[2J";
const std::string one_byte_command =
    "\xc2\x9b"
    "2J";

MATCHER(CommandsNoTerminal, "") {
  return arg.find('\x1b') == std::string::npos && arg.find('\r') == std::string::npos &&
         arg.find("\xc2\x9b") == std::string::npos;
}

// Numbers to learn from, under names and beside texts that are commands.
std::string hostile_table() {
  std::string csv = "a" + clear_screen + ",kind,y\n";
  for (int row = 0; row < 60; ++row) {
    csv += std::to_string(row * row % 17) + "," + (row % 2 == 0 ? clear_screen : one_byte_command) + "," +
           std::to_string(row) + ".5\n";
  }
  return csv;
}

TEST(Terminal, IsNotCommandedByATableThatIsLookedAt) {
  const Workplace place;
  place.write("table.csv", hostile_table());
  const Finished shown = place.stoker({"preview", "table.csv"});
  ASSERT_EQ(shown.code, 0) << shown.errors;
  EXPECT_THAT(shown.output, AllOf(CommandsNoTerminal(), HasSubstr("a\\x1b[2J"), HasSubstr("\\x9b2J")));
}

TEST(Terminal, IsNotCommandedByARunItsErrorsAndItsRecord) {
  const Workplace place;
  place.write("table.csv", hostile_table());
  const std::string name = "name" + clear_screen;
  const Finished run =
      place.stoker({"train", "table.csv", "--target", "y", "--model", "ridge", "--name", name});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_THAT(run.output + run.errors, CommandsNoTerminal());
  for (const char* command : {"list", "show"}) {
    std::vector<std::string> words{"runs", command};
    if (words[1] == "show") words.emplace_back("latest");
    const Finished listed = place.stoker(words);
    ASSERT_EQ(listed.code, 0) << listed.errors;
    EXPECT_THAT(listed.output + listed.errors, CommandsNoTerminal()) << command;
  }
  const Finished refused = place.stoker({"train", "table.csv", "--target", "a" + clear_screen + "x"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, AllOf(CommandsNoTerminal(), HasSubstr("\\x1b[2J")));
  EXPECT_THAT(place.stoker({"preview", clear_screen}).errors, CommandsNoTerminal());
  EXPECT_THAT(place.stoker({clear_screen}).errors, CommandsNoTerminal());
}

TEST(Terminal, IsNotWhatProgramsReadSoTheyGetTheDataAsItIs) {
  const Workplace place;
  std::string csv = "x,kind\n";
  for (int row = 0; row < 60; ++row)
    csv += std::to_string(row % 2 * 5 + row % 3) + "," + (row % 2 == 0 ? clear_screen : "b") + "\n";
  place.write("table.csv", csv);
  const json shown = json::parse(place.stoker({"preview", "table.csv", "--json"}).output);
  EXPECT_EQ(shown["first_rows"][0][1], clear_screen);
  ASSERT_EQ(place.stoker({"train", "table.csv", "--target", "kind", "--epochs", "2", "--device", "cpu"}).code,
            0);
  const Finished predicted = place.stoker({"predict", "latest", "table.csv"});
  ASSERT_EQ(predicted.code, 0) << predicted.errors;
  EXPECT_THAT(predicted.output, HasSubstr("probability_" + clear_screen));
}

// What the program writes to a terminal, its errors too.
std::string shown_on_terminal(const std::vector<std::string>& words, const std::filesystem::path& folder) {
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    std::vector<char*> pointers{const_cast<char*>(STOKER_PROGRAM)};
    for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    if (chdir(folder.c_str()) == 0) execv(pointers[0], pointers.data());
    _exit(98);
  }
  std::string shown;
  std::array<char, 65'536> piece{};
  for (ssize_t count = 0; (count = read(terminal, piece.data(), piece.size())) > 0;)
    shown.append(piece.data(), static_cast<std::size_t>(count));
  waitpid(child, nullptr, 0);
  close(terminal);
  return shown;
}

TEST(Terminal, ShowsLettersThatLieWhereAPieceOfALongTableEnds) {
  const Workplace place;
  std::string rows = "x,y\n";
  for (int row = 0; row < 60; ++row) rows += fmt::format("{},{}.5\n", row * row % 17, row);
  place.write("table.csv", rows);
  ASSERT_EQ(place.stoker({"train", "table.csv", "--target", "y", "--model", "ridge"}).code, 0);
  std::string letters;
  for (int i = 0; i < 50; ++i) letters += "é";
  rows = "x,note\n";
  for (int row = 0; row < 30'000; ++row) rows += fmt::format("{},{}\n", row % 17, letters);
  place.write("new.csv", rows);
  const std::string shown =
      shown_on_terminal({"predict", "latest", "new.csv", "--include-features"}, place.folder());
  EXPECT_GT(shown.size(), std::size_t{3} << 20);
  EXPECT_THAT(shown, Not(HasSubstr("\\x")));
}

}  // namespace
}  // namespace stoker::test
