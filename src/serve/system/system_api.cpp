#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/process/confinement.h"
#include "database/writable.h"
#include "serve/http/docs_page.h"
#include "serve/http/schema.h"
#include "serve/service.h"
#include "serve/system/log.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

Response ready(Service& service) {
  std::string kind;
  try {
    const auto held = service.records().hold();
    kind = service.records().to_write().is_postgres() ? "postgresql" : "sqlite";
    service.jobs().counts();
  } catch (const std::exception& error) {
    log_event("error", {{"what", "the store cannot be read"}, {"why", error.what()}});
    return error_response(503, "the store cannot be read; the log of the service says why");
  }
  return json_response({{"status", "ready"}, {"store", kind}});
}

Response system_facts() {
  const ConfinementMeans means = confinement_means();
  return json_response({{"version", STOKER_VERSION},
                        {"readers",
                         {{"landlock", means.landlock},
                          {"mount_namespace", means.private_root},
                          {"seccomp", means.filters_calls},
                          {"reach_other_files", !means.hides_files()}}}});
}

Response plain_text(const char* type, std::string body) {
  Response response;
  response.type = type;
  response.body = std::move(body);
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
       {{200, "It is", schema::object("Health", {{"status", schema::text()}})}}},
      {"GET",
       "/readyz",
       "ready",
       "Whether it can take work",
       Access::anybody,
       [&service](Call&) { return ready(service); },
       {},
       nullptr,
       {},
       {{200, "It can",
         schema::object("Readiness",
                        {{"status", schema::text()},
                         {"store", schema::text("What jobs are on record in: sqlite or postgresql")}})},
        {503, "It cannot"}}},
      {"GET",
       "/api/system",
       "system",
       "The program, and how files of clients are kept apart while they are read",
       Access::viewer,
       [](Call&) { return system_facts(); },
       {},
       nullptr,
       {},
       {{200, "What is active",
         schema::object(
             "System",
             {{"version", schema::text()},
              {"readers",
               schema::object(
                   "Readers",
                   {{"landlock", schema::whole("Version of the kernel's interface; 0: none")},
                    {"mount_namespace",
                     schema::of_type("boolean", "Whether a mount namespace stands in for Landlock")},
                    {"seccomp", schema::of_type("boolean", "Whether system calls are filtered")},
                    {"reach_other_files",
                     schema::of_type("boolean",
                                     "Whether a reader could open other files of the service")}})}})}}},
      {"GET",
       "/metrics",
       "metrics",
       "Figures for Prometheus",
       Access::viewer,
       [&service](Call&) {
         return plain_text("text/plain; version=0.0.4; charset=utf-8", metrics_text(service));
       },
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
       {{200, "OpenAPI 3.1", {{"type", "object"}}}}},
      {"GET",
       "/api/docs",
       "docs",
       "This description as a page for people",
       Access::anybody,
       [&service](Call&) { return plain_text("text/html; charset=utf-8", docs_page(service.routes())); },
       {},
       nullptr,
       {},
       {{200, "The page", {{"type", "string"}}, "text/html"}}},
      {"GET",
       "/api/docs/docs.css",
       "docsStyle",
       "How the page looks",
       Access::anybody,
       [](Call&) { return plain_text("text/css; charset=utf-8", std::string(embedded::docs_style)); },
       {},
       nullptr,
       {},
       {{200, "The style", {{"type", "string"}}, "text/css"}}},
      {"GET",
       "/api/docs/docs.js",
       "docsScript",
       "What lets requests be tried on the page",
       Access::anybody,
       [](Call&) { return plain_text("text/javascript; charset=utf-8", std::string(embedded::docs_script)); },
       {},
       nullptr,
       {},
       {{200, "The script", {{"type", "string"}}, "text/javascript"}}},
  };
}

}  // namespace stoker::serve
