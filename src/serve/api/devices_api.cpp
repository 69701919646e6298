#include "serve/http/schema.h"
#include "serve/service.h"

namespace stoker::serve {
namespace {

nlohmann::json devices_schema() {
  const nlohmann::json device =
      schema::object("Device",
                     {{"device", schema::text("As a train card names it: cpu, cuda:0")},
                      {"model", schema::text()},
                      {"total_bytes", schema::whole()},
                      {"free_bytes", schema::whole()},
                      {"compute_units", schema::whole("Cores or multiprocessors")}},
                     {{"compute_capability", schema::whole("90 for sm_90")},
                      {"driver", schema::text()},
                      {"bus", schema::text("Where it stands on the bus")}});
  const nlohmann::json host = schema::object(
      "HostLoad",
      {{"cores", schema::whole()}, {"total_bytes", schema::whole()}, {"free_bytes", schema::whole()}},
      {{"busy", schema::number("Share of the time since the reading before in which cores worked")},
       {"load", schema::list_of(schema::number(), "Over 1, 5 and 15 minutes")}});
  const nlohmann::json gpu =
      schema::object("GpuGauge",
                     {{"gpu", schema::whole("By the order of the driver")},
                      {"model", schema::text()},
                      {"busy", schema::number("Share of the last while in which a multiprocessor worked")},
                      {"watts", schema::number()},
                      {"megahertz", schema::number()},
                      {"celsius", schema::number()},
                      {"used_bytes", schema::whole("By all processes")},
                      {"total_bytes", schema::whole()}},
                     {{"device", schema::text("As a train card names it, where it can be trained on")}});
  return schema::object("Devices",
                        {{"devices", schema::list_of(device, "What can be trained on")},
                         {"time", schema::text("Of the reading")},
                         {"host", host},
                         {"gpus", schema::list_of(gpu, "What a GPU does not tell is 0")}},
                        {{"no_cuda_because", schema::text("Why no GPU can be trained on")},
                         {"no_gpus_because", schema::text("Why no GPU is read")}});
}

}  // namespace

std::vector<Route> device_routes(Service& service) {
  return {{"GET",
           "/api/devices",
           "devices",
           "What can be trained on, and what it is doing: use, memory, power and temperature, read at most "
           "once a second",
           Access::viewer,
           [&service](Call&) { return json_response(service.gauges().now()); },
           {},
           nullptr,
           {},
           {{200, "Devices", devices_schema()}}}};
}

}  // namespace stoker::serve
