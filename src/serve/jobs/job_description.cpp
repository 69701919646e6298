#include "serve/jobs/job_description.h"

#include "serve/http/schema.h"
#include "store/job_store.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

json summary_schema() {
  using namespace schema;
  return object(
      "JobSummary",
      {{"seconds", number("That the run took")},
       {"results",
        list_of(object("", {{"card", text()}, {"rows", whole()}, {"metrics", map_of(number_or_null())}},
                       {{"model", text("The folder of the model in the run folder")}}),
                "What was evaluated")},
       {"trainings", list_of(object("", {{"card", text()},
                                         {"model_type", text()},
                                         {"engine", text()},
                                         {"device", text()},
                                         {"epochs", whole()},
                                         {"seconds", number()}}),
                             "What was trained")},
       {"warnings", list_of(text())}},
      {{"dropped_rows",
        list_of(object("", {{"card", text()}, {"dropped", whole()}, {"received", whole("Rows before it")}}),
                "Cards that passed on fewer rows than they received")}});
}

json progress_schema() {
  using namespace schema;
  return object("JobProgress", {{"card", text("That is at work")}},
                {{"step", whole()},
                 {"total_steps", whole()},
                 {"steps_per_second", number_or_null()},
                 {"seconds_left", number_or_null()},
                 {"epoch", whole("The last one that is over")},
                 {"epochs", whole("That are to be trained, unless it stops early")},
                 {"train_loss", number_or_null()},
                 {"validation_loss", number_or_null()},
                 {"rows_per_second", number_or_null()}});
}

void add_line_properties(json& properties) {
  using namespace schema;
  properties["id"] = text("A UUID");
  properties["job_name"] = text("For people");
  properties["state"] = one_of(config::names<JobState>, "What it does");
  properties["kind"] = one_of(config::names<JobKind>);
  properties["priority"] = whole("Jobs with more are started first");
  properties["device"] = text("auto, cpu or cuda");
  properties["owner"] = text("The name of the token that asked for it");
  properties["project"] = text("The id of the project that it belongs to");
  properties["created"] = text("ISO 8601, UTC, like all times");
  properties["run"] = text("The name of its run folder");
  properties["asked"] = one_of(config::names<JobWish>, "What somebody asked for while it ran");
  properties["slot"] = text("That it runs in");
  properties["started"] = text();
  properties["ended"] = text();
  properties["reason"] = text("Why it failed or ended early");
  properties["time_limit"] = number("Seconds after which it is stopped");
  properties["continues"] = text("The job that it goes on from");
  properties["notes"] = list_of(text(), "What settings mean here");
  properties["summary"] = summary_schema();
  properties["progress"] = progress_schema();
  properties["document_id"] = text("The stored document that it runs");
  properties["document_version"] = whole("The version of that document");
}

json line_schema() {
  json schema{
      {"title", "JobLine"},
      {"type", "object"},
      {"required",
       {"id", "job_name", "state", "kind", "priority", "device", "owner", "project", "created", "run"}},
      {"properties", json::object()}};
  add_line_properties(schema["properties"]);
  return schema;
}

}  // namespace

json job_schema() {
  json whole = line_schema();
  whole["title"] = "Job";
  for (const char* name : {"attempts", "seconds_used", "document", "request"})
    whole["required"].push_back(name);
  json& properties = whole["properties"];
  properties["waits_for"] = schema::text("Why it has not begun yet");
  properties["seconds_used"] = schema::number("That its processes have taken so far");
  properties["attempts"] = schema::whole("Processes that were started for it");
  properties["document"] = schema::text("As it is run, YAML");
  properties["request"] = schema::of_type("object", "As it was sent");
  return whole;
}

json job_list_schema() {
  return schema::object("JobList",
                        {{"total", schema::whole("On all pages")}, {"jobs", schema::list_of(line_schema())}},
                        {{"next", schema::whole("`before` of the next page, where there may be one")}});
}

json job_epochs_schema() {
  using namespace schema;
  json epoch = object("JobEpoch", {{"card", text()}, {"epoch", whole()}, {"train_loss", number_or_null()}},
                      {{"validation_loss", number_or_null()}, {"learning_rate", number_or_null()}});
  return object("JobEpochs", {{"id", text()}, {"epochs", list_of(std::move(epoch))}});
}

// A stream is described by what each event of it is made of.
json job_event_schema() {
  using namespace schema;
  return object("JobEvent",
                {{"event", text("Its name: state, log, progress, removed or that of an event of the run")},
                 {"data", text("JSON on one line")}},
                {{"id", text("To go on from; progress has none")}});
}

json job_removal_schema() {
  using namespace schema;
  return object(
      "JobRemoval",
      {{"id", text()}, {"freed_bytes", whole("Of its files")}, {"freed", text("The same for people")}});
}

json job_late_removal_schema() {
  using namespace schema;
  return object("JobLateRemoval", {{"id", text()}, {"state", text()}, {"asked", text()}});
}

json job_example() {
  return {{"job_name", "GPU Cache Test - UHF Mixed"},
          {"config",
           {{"dataset_ids", {"29b7b2f4-eb9b-4e22-a77f-c03f0c4ca876"}},
            {"batch_size", 256},
            {"epochs", 3},
            {"learning_rate", 0.001},
            {"preload_to_gpu", true},
            {"accelerator", "auto"}}}};
}

}  // namespace stoker::serve
