#pragma once

#include <string>
#include <string_view>

// Values of environment variables that addresses name as ${NAME}. Nobody but the server of such an address
// may see them, so every text that leaves the process shows ${NAME} in their place.
namespace stoker {

// Shorter values are not hidden: they would be found in the middle of ordinary words.
constexpr std::size_t shortest_hidden_value = 6;

// From now on, text shows ${NAME} in place of the value, however it is spelled: in other case,
// percent-encoded or decoded, or escaped as in JSON or HTML. Of a value of several parts, such as an address,
// also in place of its password, and of parts that are long enough to be told from words.
void hide_value(const std::string& name, const std::string& value);

// For people. Returns the text unchanged if it has no hidden value.
std::string without_hidden_values(std::string text);
// The same for JSON, of which only strings are changed, so that it stays JSON.
std::string json_without_hidden_values(std::string text);

}  // namespace stoker
