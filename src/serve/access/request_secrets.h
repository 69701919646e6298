#pragma once

#include <string>

#include "config/value.h"

// What is sent is kept: requests with their jobs, documents with every version, sources with their datasets.
// No secret may stand in any of them as it is.
namespace stoker::serve {

// Refuses a password, or a name, in an address anywhere in it, and addresses of sources (`url`, `uri`) with a
// secret in their query or keywords, by the sentence that says how to give them.
void refuse_secrets(const config::Value& body);
// The same for the text of a document, also of one that cannot be read.
void refuse_secrets_in_document(const std::string& text);

}  // namespace stoker::serve
