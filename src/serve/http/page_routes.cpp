#include <algorithm>

#include <fmt/format.h>

#include "base/text/text.h"
#include "serve/http/page_files.h"
#include "serve/service.h"

namespace stoker::serve {
namespace {

constexpr std::string_view index_path = "/index.html";
// What the page itself makes of an address; web/src/app/routes.ts has the same list.
constexpr const char* paths_of_page[] = {"/",       "/documents/{id}", "/jobs",    "/jobs/{id}",
                                         "/runs",   "/runs/{id}",      "/compare", "/sweeps/{id}",
                                         "/models", "/models/{id}",    "/data",    "/data/{id}"};
constexpr const char* words_without_page =
    "This Stoker was built without its web page, because there was no Node.js of version 20.19 or newer. "
    "tools/setup fetches it, and the next build has the page. /api/docs describes what can be asked for.\n";

const PageFile* page_file_named(std::string_view path) {
  const auto files = page_files();
  const auto found = std::ranges::find(files, path, &PageFile::path);
  return found == files.end() ? nullptr : &*found;
}

bool asks_for_gzip(const Request& request) {
  const std::string_view accepted = request.header("accept-encoding");
  if (accepted.empty()) return true;  // whoever says nothing takes anything
  for (const std::string& each : split_text(lower_case(accepted), ',')) {
    const std::size_t begin = std::min(each.find_first_not_of(' '), each.size());
    const std::string_view name = std::string_view(each).substr(begin);
    if ((name.starts_with("gzip") || name.starts_with("*")) && !name.ends_with("q=0")) return true;
  }
  return false;
}

Response answer_with(const PageFile& file, const Request& request, const char* caching) {
  Response response;
  const std::string tag = fmt::format("\"{}\"", file.tag);
  response.type = std::string(file.type);
  response.headers.emplace_back("ETag", tag);
  response.headers.emplace_back("Cache-Control", caching);
  if (request.header("if-none-match") == tag) {
    response.status = 304;
    return response;
  }
  response.body = std::string(file.bytes);
  return response;
}

Response page_itself(const Request& request) {
  const PageFile* index = page_file_named(index_path);
  if (index != nullptr) return answer_with(*index, request, "no-cache");
  Response response;
  response.type = "text/plain; charset=utf-8";
  response.body = words_without_page;
  return response;
}

// Their names have a hash of their content, so what a browser has is good for ever.
Response part_of_page(const Request& request) {
  const PageFile* file = page_file_named(request.path);
  if (file == nullptr) throw HttpError(404, fmt::format("there is nothing at {}", printable(request.path)));
  if (!asks_for_gzip(request)) throw HttpError(406, "the files of the page are compressed by gzip");
  Response response = answer_with(*file, request, "public, max-age=31536000, immutable");
  response.headers.emplace_back("Content-Encoding", "gzip");
  response.headers.emplace_back("Vary", "Accept-Encoding");
  return response;
}

Route route_of_page(std::string path, std::function<Response(Call&)> answer) {
  Route route;
  route.method = "GET";
  route.path = std::move(path);
  route.name = "page";
  route.help = "The web page";
  route.access = Access::anybody;
  route.answer = std::move(answer);
  route.is_page = true;
  return route;
}

}  // namespace

std::vector<Route> page_routes() {
  std::vector<Route> routes;
  for (const char* path : paths_of_page)
    routes.push_back(route_of_page(path, [](Call& call) { return page_itself(call.request); }));
  routes.push_back(route_of_page("/assets/{path*}", [](Call& call) { return part_of_page(call.request); }));
  return routes;
}

}  // namespace stoker::serve
