#pragma once

#include <string>

#include "serve/http/route.h"
#include "store/records.h"

namespace stoker::serve {

// Whether a request works in one project. A new route does; those that are about the service are listed.
enum class ProjectUse {
  none,      // about the service itself
  optional,  // an admin who names no project is shown all of them
  one
};
ProjectUse project_use_of(const Route& route);

// The caller with the project that the request works in and the role there. The project is that of the path
// or of the parameter `project`. If neither names one, it is that of the document, job, sweep, model or run
// which the path names, the only one of the token, or `default`. Throws HttpError: 404 for a project that the
// caller does not belong to, as if it did not exist, 400 if none is named and several are possible. Whether a
// project that an admin names exists is not checked here.
Caller caller_in_project(Caller caller, const Request& request, const Routes::Found& found, Records& records);

}  // namespace stoker::serve
