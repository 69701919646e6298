#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "serve/models/uploaded_model.h"
#include "serve/service.h"
#include "store/model_archive.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

constexpr std::size_t longest_model_name = 200;
constexpr std::uint64_t most_archive_bytes = std::uint64_t{2} << 30;

ModelRecord model_of_call(Service& service, const Call& call) {
  auto model = service.models().find(call.part("id"));
  if (!model) throw NotFound(fmt::format("there is no model '{}'", printable(call.part("id"))));
  return std::move(*model);
}

json shown_model(Service& service, const ModelRecord& model) {
  json view{{"id", model.id},
            {"name", model.name},
            {"bytes", model.bytes},
            {"created", model.created},
            {"deployed_as", service.models().names_of(model.id)}};
  if (!model.job.empty()) view["job"] = model.job;
  view.update(model.facts);
  return view;
}

std::string sound_model_name(const std::string& name) {
  const bool has_letters = std::ranges::any_of(name, [](unsigned char c) { return c > ' '; });
  if (!has_letters || name.size() > longest_model_name || printable(name) != name)
    throw HttpError(
        422, fmt::format("a name has 1 to {} characters, all of which can be shown", longest_model_name));
  return name;
}

// Part of an address.
void refuse_deployment_name(const std::string& name) {
  constexpr std::size_t longest = 64;
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  if (name.size() <= longest && std::isalnum(static_cast<unsigned char>(name.front())) != 0 &&
      std::ranges::all_of(name, is_plain))
    return;
  throw HttpError(
      422,
      "a model is deployed under a name of up to 64 letters, digits, -, _ and ., from a letter or "
      "digit on");
}

// The only setting of a small body.
std::string text_setting(const Call& call, const std::string& setting) {
  const json body = call.json();
  if (!body.is_object() || body.size() != 1 || !body.contains(setting) || !body[setting].is_string())
    throw HttpError(422, fmt::format("the body is {{\"{}\": \"…\"}} and nothing else", setting));
  return body[setting];
}

json body_with(const std::string& setting, const std::string& help) {
  return {{"type", "object"},
          {"required", {setting}},
          {"additionalProperties", false},
          {"properties", {{setting, {{"type", "string"}, {"minLength", 1}, {"description", help}}}}}};
}

Response list_models(Service& service, Call& call) {
  constexpr std::int64_t most_models_of_a_page = 500;
  const std::int64_t limit = call.number("limit", 50, 1, most_models_of_a_page);
  const std::int64_t offset = call.number("offset", 0, 0, INT32_MAX);
  json models = json::array();
  for (const ModelRecord& model : service.models().list(limit, offset))
    models.push_back(shown_model(service, model));
  return json_response({{"total", service.models().count()}, {"models", std::move(models)}});
}

Response rename_model(Service& service, Call& call) {
  const std::string name = sound_model_name(text_setting(call, "name"));
  model_of_call(service, call);
  service.models().rename(call.part("id"), name);
  return json_response(shown_model(service, model_of_call(service, call)));
}

Response remove_model(Service& service, Call& call) {
  const ModelRecord model = model_of_call(service, call);
  if (!model.job.empty())
    throw Conflict(fmt::format("model {} lies in the run of job {}: delete the job, and it goes with it",
                               model.id, model.job));
  if (!service.models().remove(model.id))
    throw Conflict(fmt::format("model {} is deployed as {}; withdraw it first", model.id,
                               join(service.models().names_of(model.id), ", ")));
  std::error_code error;
  remove_folder(model.folder, error);
  if (error) fail("{} cannot be removed: {}", model.folder, error.message());
  return json_response({{"id", model.id}, {"freed_bytes", model.bytes}, {"freed", human_bytes(model.bytes)}});
}

class ArchiveStream : public Stream {
 public:
  explicit ArchiveStream(const std::string& folder) : archive_(folder) {}
  bool more(std::string& text) override { return archive_.more(text); }

 private:
  ModelArchive archive_;
};

Response model_file(Service& service, Call& call) {
  const ModelRecord model = model_of_call(service, call);
  Response response;
  response.type = "application/x-tar";
  response.stream = std::make_unique<ArchiveStream>(model.folder);
  response.headers.emplace_back("Content-Disposition",
                                fmt::format("attachment; filename=\"model-{}.tar\"", model.id.substr(0, 8)));
  return response;
}

Response upload_model(Service& service, Call& call) {
  if (call.request.body_file.empty()) throw HttpError(400, "the request has no body; it takes a tar archive");
  const std::string name = sound_model_name(call.text("name", "uploaded"));
  const std::filesystem::path models = service.folder() / "models";
  make_folder(models);
  const std::string id = random_id();
  AtomicFolder folder(models / id);
  unpack_uploaded_model(call.request.body_file, folder.folder());
  folder.commit();
  ModelRecord model = model_record(models / id, name);
  model.id = id;
  service.models().add(model);
  return json_response(shown_model(service, model), 201);
}

json shown_deployment(const DeploymentRecord& deployment) {
  return {{"name", deployment.name}, {"model", deployment.model}, {"deployed", deployment.deployed}};
}

Response list_deployments(Service& service) {
  json all = json::array();
  for (const DeploymentRecord& each : service.models().deployments()) all.push_back(shown_deployment(each));
  return json_response({{"deployments", std::move(all)}});
}

Response deploy_model(Service& service, Call& call) {
  refuse_deployment_name(call.part("name"));
  const DeploymentRecord deployment{call.part("name"), text_setting(call, "model"), time_stamp_utc()};
  service.served().deploy(deployment);
  return json_response(shown_deployment(deployment));
}

Response withdraw_model(Service& service, Call& call) {
  if (!service.served().withdraw(call.part("name")))
    throw NotFound(fmt::format("no model is deployed under the name '{}'", printable(call.part("name"))));
  return json_response({{"name", call.part("name")}, {"deployed", false}});
}

}  // namespace

std::vector<Route> model_routes(Service& service) {
  const std::string base = "/api/models";
  const Answer none{404, "There is none"};
  std::vector<Route> routes;
  const auto add = [&](const std::string& method, const std::string& path, const std::string& name,
                       const std::string& help, Access access,
                       Response (*answer)(Service&, Call&)) -> Route& {
    routes.push_back({method, base + path, name, help, access,
                      [&service, answer](Call& call) { return answer(service, call); }});
    return routes.back();
  };
  Route& list = add("GET", "", "listModels", "List models, newest first", Access::viewer, list_models);
  list.parameters = {
      {"limit", "At most so many", {{"type", "integer"}, {"minimum", 1}, {"maximum", 500}}},
      {"offset", "Pass over so many", {{"type", "integer"}, {"minimum", 0}, {"maximum", INT32_MAX}}}};
  list.answers = {{200, "Models"}, {400, "A parameter is wrong"}};
  add("GET", "/deployments", "listDeployments", "List the names under which models predict", Access::viewer,
      [](Service& each, Call&) { return list_deployments(each); })
      .answers = {{200, "Deployments"}};
  Route& deploy = add("PUT", "/deployments/{name}", "deployModel",
                      "Let a name stand for a model from now on; requests under way end with the one before",
                      Access::user, deploy_model);
  deploy.body = body_with("model", "Id of the model");
  deploy.answers = {{200, "The deployment"}, none, {422, "What is wrong with it"}};
  add("DELETE", "/deployments/{name}", "withdrawModel", "Let a name stand for no model", Access::user,
      withdraw_model)
      .answers = {{200, "It is gone"}, none};
  Route& upload = add("POST", "/upload", "uploadModel", "Put a model on record that was downloaded elsewhere",
                      Access::user, upload_model);
  upload.parameters = {{"name", "For people"}};
  upload.body = json{{"type", "string"}, {"format", "binary"}};
  upload.body_types = {"application/x-tar", "application/octet-stream"};
  upload.is_upload = true;
  upload.most_body = most_archive_bytes;
  upload.answers = {{201, "The model"}, {422, "What is wrong with the archive"}};
  add("GET", "/{id}", "showModel", "Show a model: what it reads, what it predicts, how well", Access::viewer,
      [](Service& each, Call& call) { return json_response(shown_model(each, model_of_call(each, call))); })
      .answers = {{200, "The model"}, none};
  Route& rename =
      add("PATCH", "/{id}", "renameModel", "Give a model another name", Access::user, rename_model);
  rename.body = body_with("name", "For people");
  rename.answers = {{200, "The model"}, none, {422, "What is wrong with it"}};
  add("DELETE", "/{id}", "deleteModel", "Delete a model that was uploaded", Access::user, remove_model)
      .answers = {{200, "What was freed"}, none, {409, "It is deployed, or part of a job"}};
  add("GET", "/{id}/file", "downloadModel", "The model as a tar archive", Access::viewer, model_file)
      .answers = {{200, "The archive", {{"type", "string"}, {"format", "binary"}}, "application/x-tar"},
                  none};
  return routes;
}

}  // namespace stoker::serve
