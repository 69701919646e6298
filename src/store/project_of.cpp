#include "store/project_of.h"

#include <fmt/format.h>

#include "database/writable.h"

namespace stoker {
namespace {

const char* statement_for(NamedThing thing) {
  switch (thing) {
    case NamedThing::document:
      return "SELECT project FROM stoker_documents WHERE id = $1";
    case NamedThing::job:
      return "SELECT project FROM stoker_jobs WHERE id = $1";
    case NamedThing::model:
      return "SELECT project FROM stoker_models WHERE id = $1";
    case NamedThing::run:
      break;
  }
  return "SELECT project FROM stoker_jobs WHERE run IN ($1, $2)";
}

}  // namespace

std::string project_of(Records& records, NamedThing thing, const std::string& id, const std::string& sweep) {
  const auto held = records.hold();
  std::vector<database::WrittenValue> values{id};
  if (thing == NamedThing::run) values.emplace_back(sweep.empty() ? id : sweep);
  const auto rows = records.to_write().run(statement_for(thing), values);
  return rows.empty() ? "" : rows.front().at(0).value_or("");
}

}  // namespace stoker
