#pragma once

#include <nlohmann/json.hpp>

// What the OpenAPI document tells of jobs.
namespace stoker::serve {

nlohmann::json job_schema();       // a job as it is shown alone
nlohmann::json job_list_schema();  // a page of them
nlohmann::json job_epochs_schema();
nlohmann::json job_event_schema();         // one of the stream
nlohmann::json job_removal_schema();       // that is done
nlohmann::json job_late_removal_schema();  // of one whose process has to end first
nlohmann::json job_example();              // of a request

}  // namespace stoker::serve
