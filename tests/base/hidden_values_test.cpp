#include "base/text/hidden_values.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What is hidden stays hidden in this process, so every test has values of its own.

TEST(HiddenValues, ValueIsShownAsItsVariable) {
  hide_value("TOKEN", "OKSEKRET-7");
  EXPECT_EQ(without_hidden_values("the host 'OKSEKRET-7' is unknown"), "the host '${TOKEN}' is unknown");
  EXPECT_EQ(without_hidden_values("OKSEKRET-7OKSEKRET-7"), "${TOKEN}${TOKEN}");
  EXPECT_EQ(without_hidden_values("nothing hidden"), "nothing hidden");
}

TEST(HiddenValues, OtherSpellingsAreHiddenToo) {
  hide_value("ODD", "Ab/c \"d&e");
  for (const char* each : {"Ab/c \"d&e", "ab/c \"d&e", "Ab%2Fc%20%22d%26e", "ab%2fc%20%22D%26e",
                           "Ab/c \\\"d&e", "Ab/c &quot;d&amp;e"})
    EXPECT_EQ(without_hidden_values(each), "${ODD}") << each;
  hide_value("ENCODED", "x%2Fy%40zzz");
  EXPECT_EQ(without_hidden_values("at x/y@zzz"), "at ${ENCODED}");
}

TEST(HiddenValues, ValueThatIsCutOffIsHiddenToo) {
  hide_value("LONG", "qwertzuiopasdfghjklyxcvbnm");
  EXPECT_EQ(without_hidden_values("'qwertzuiopasdfgh…'"), "'${LONG}…'");
  EXPECT_EQ(without_hidden_values("…opasdfghjklyxcvbnm"), "…${LONG}");
}

TEST(HiddenValues, PasswordOfAnAddressIsHiddenAndItsSchemeIsNot) {
  hide_value("ADDRESS", "postgresql://anna:p%40ssw0rd@db.example.org/plant");
  EXPECT_EQ(without_hidden_values("password p@ssw0rd"), "password ${ADDRESS}");
  EXPECT_EQ(without_hidden_values("write postgresql://…"), "write postgresql://…");
  hide_value("KEYWORDS", "host=db.example.org password='hush-hush' user=anna");
  EXPECT_EQ(without_hidden_values("hush-hush!"), "${KEYWORDS}!");
  hide_value("PAGE", "https://example.org/a.csv?token=t0ken-value&b=1");
  EXPECT_EQ(without_hidden_values("t0ken-value"), "${PAGE}");
}

TEST(HiddenValues, HostAndFileOfAValueThatIsPartOfAnAddressAreHidden) {
  hide_value("PLACE", "well-host-9:8080/deep/Secret-File.csv");
  EXPECT_EQ(without_hidden_values("'Secret-File.csv' on well-host-9"), "'${PLACE}' on ${PLACE}");
}

TEST(HiddenValues, OnlyStringsOfJsonAreChanged) {
  hide_value("DIGITS", "31415926");
  EXPECT_EQ(json_without_hidden_values(R"({"a":0.31415926,"b":"31415926","c":["\"31415926"]})"),
            R"({"a":0.31415926,"b":"${DIGITS}","c":["\"${DIGITS}"]})");
  hide_value("WORD", "geheimnis");
  EXPECT_EQ(json_without_hidden_values(R"({"geheimnis":"geheimnis","my geheimnis":1})"),
            R"({"geheimnis":"${WORD}","my ${WORD}":1})");
}

TEST(HiddenValues, JsonWithEscapesStaysJson) {
  hide_value("NEAR_ESCAPE", "n-kilowatt-hours\\");
  EXPECT_EQ(json_without_hidden_values(R"(["a\n-kilowatt-hours\\","\n-kilowatt-hours"])"),
            R"(["a\n${NEAR_ESCAPE}","\n${NEAR_ESCAPE}"])");
}

TEST(HiddenValues, ShortValueIsNotHidden) {
  hide_value("SHORT", "abc12");
  EXPECT_EQ(without_hidden_values("abc12"), "abc12");
}

}  // namespace
}  // namespace stoker
