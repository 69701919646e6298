#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// An address may hold what only its reader must know: the values of its query, and a name and a password in
// front of the host. Neither is shown or kept; ${NAME} in an address stands for an environment variable,
// which is read when the address is.

// For people: "https://example.org/houses.csv?token=***".
std::string shown_url(const std::string& url);

// For a document that is kept: "https://example.org/houses.csv?token=${STOKER_LOAD_TOKEN}", where `card` is
// load. Whoever reads it again sets that variable.
std::string kept_url(const std::string& url, const std::string& card);

// With the values of its variables. Refuses one that is not set.
std::string expanded_url(const std::string& url);

// Whether it has a name or a password in front of the host.
bool has_credentials(const std::string& url);

// The address of a database, with the values of its variables. Refuses one that is not set; `called` is what
// the address was given as.
std::string expanded_uri(const std::string& uri, const std::string& called = "uri");

// The names of its variables, in their order.
std::vector<std::string> variables_of_address(const std::string& address);

// Whether it is nothing but one ${NAME}.
bool is_variable_alone(std::string_view address);

// Whether the address of a database, or its keywords and values, have a password that stands there as it is.
bool has_password(const std::string& uri);

}  // namespace stoker
