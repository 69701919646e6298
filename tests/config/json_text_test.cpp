#include "config/json_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace stoker::config {
namespace {

TEST(JsonText, IsWhatTheLibraryWrites) {
  const std::string plain(5'000, 'A');
  for (const std::string& odd : {std::string("\""), std::string("\\"), std::string("\n"), std::string("\x7f"),
                                 std::string("\xff"), std::string("\xc3\xa9"), std::string(1, '\0')}) {
    const nlohmann::json value{
        {"plain", plain},
        {"odd", plain + odd},
        {"short", odd},
        {odd,
         {{"deeper", nlohmann::json::array(
                         {plain, odd, 1.5, nullptr, nlohmann::json::object(), nlohmann::json::array()})}}},
        {"numbers", {1, 0.1, -3}},
        {"yes", true}};
    EXPECT_EQ(json_text(value), value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  for (const nlohmann::json& value : {nlohmann::json(), nlohmann::json(plain), nlohmann::json::array(),
                                      nlohmann::json::object(), nlohmann::json::array({plain})})
    EXPECT_EQ(json_text(value), value.dump());
}

}  // namespace
}  // namespace stoker::config
