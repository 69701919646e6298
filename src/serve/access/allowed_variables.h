#pragma once

#include <string>
#include <vector>

namespace stoker::serve {

// A variable of the service's environment that addresses in documents may name as ${NAME}.
struct AllowedVariable {
  std::string name;
  std::string host;  // "db.example.org", with a port or without; empty: any
};

// "NAME" or "NAME=HOST". Refuses what is neither.
AllowedVariable allowed_variable(const std::string& text);

// Hides their values in all that the service says (base/text/hidden_values.h). Returns what the operator
// should know of them: those that are not set, too short to hide, or sent wherever a client wants.
std::vector<std::string> hide_variables(const std::vector<AllowedVariable>& variables);

// Of the address of a source, a `url` or the `uri` of a database. Refuses variables that are not allowed:
// others hold what only the service may know, and the server that an address leads to would learn it. Refuses
// an address that would take a variable to another host than its own. The host of a variable without one that
// is a whole address is the one in it.
void refuse_variables_not_allowed(const std::string& address, const std::vector<AllowedVariable>& variables);

}  // namespace stoker::serve
