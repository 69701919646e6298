#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "pipeline/document.h"
#include "serve/service.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

Response ready(Service& service) {
  try {
    service.jobs().counts();
  } catch (const std::exception&) {
    return error_response(503, "the store cannot be read");
  }
  return json_response({{"status", "ready"}});
}

// In the text format of Prometheus.
Response metrics(Service& service) {
  std::string text = "# HELP stoker_jobs Jobs on record by their state.\n# TYPE stoker_jobs gauge\n";
  for (const auto& [state, count] : service.jobs().counts())
    text += fmt::format("stoker_jobs{{state=\"{}\"}} {}\n", config::name_of(state), count);
  text += fmt::format(
      "# HELP stoker_slots Room for jobs.\n# TYPE stoker_slots gauge\nstoker_slots {}\n"
      "# HELP stoker_slots_in_use Jobs that run.\n# TYPE stoker_slots_in_use gauge\nstoker_slots_in_use {}\n",
      service.queue().slots().size(), service.queue().running());
  Response response;
  response.type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = std::move(text);
  return response;
}

}  // namespace

std::vector<Route> system_routes(Service& service) {
  return {
      {"GET",
       "/healthz",
       "health",
       "Whether the service is up",
       Access::anybody,
       [](Call&) {
         return json_response({{"status", "ok"}});
       },
       {},
       nullptr,
       {},
       {{200, "It is"}}},
      {"GET",
       "/readyz",
       "ready",
       "Whether it can take work",
       Access::anybody,
       [&service](Call&) { return ready(service); },
       {},
       nullptr,
       {},
       {{200, "It can"}, {503, "It cannot"}}},
      {"GET",
       "/metrics",
       "metrics",
       "Figures for Prometheus",
       Access::viewer,
       [&service](Call&) { return metrics(service); },
       {},
       nullptr,
       {},
       {{200, "Figures", {{"type", "string"}}, "text/plain"}}},
      {"GET",
       "/api/openapi.json",
       "openapi",
       "This description",
       Access::anybody,
       [&service](Call&) { return json_response(openapi_of(service.routes())); },
       {},
       nullptr,
       {},
       {{200, "OpenAPI 3.1"}}},
  };
}

}  // namespace stoker::serve
