#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "config/value.h"
#include "pipeline/document/document.h"
#include "pipeline/document/sweep_document.h"
#include "serve/service.h"

namespace stoker::serve {

// What somebody asks for, beside the document.
struct NewJob {
  std::string name;  // empty: the document's
  std::string card;  // run this one and what it needs; empty: all
  std::int64_t priority = 0;
  double time_limit = 0;                // seconds; 0: none, or ten minutes for a card
  nlohmann::json request;               // as it was sent
  std::vector<std::string> notes = {};  // what settings mean here
};

// A job that runs the document, or searches it, to be given to the queue. Refuses a card or a dataset that is
// not there, and sources that the operator does not allow.
JobRecord job_to_run(const Service& service, const Caller& caller, const Document& document,
                     const NewJob& asked);
JobRecord job_to_search(const Service& service, const Caller& caller, const SweepDocument& sweep,
                        const NewJob& asked);

// The body of a call, whose `document` may be text (YAML or JSON) too: here it is the map that the text
// holds. Refuses one with a secret in it.
config::Value body_with_document(const Call& call);

}  // namespace stoker::serve
