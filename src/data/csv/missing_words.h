#pragma once

#include <string_view>

// Words that people write where a value is missing. Among numbers or dates they can mean nothing else; among
// texts, '-' and '?' may be values like all others.
namespace stoker {

// ?, -, NA, n/a, null and the like, blanks around them aside; nothing at all too.
bool is_missing_word(std::string_view text);

}  // namespace stoker
