#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "config/value.h"
#include "serve/http/http.h"
#include "store/token_store.h"

namespace stoker::serve {

// Who asks.
struct Caller {
  std::string token;  // its id
  std::string name;
  UserRole role = UserRole::viewer;  // in the project of the request
  std::string session = "";          // hash of the session that a browser came with; empty: it sent the token
  std::string csrf_hash = "";
  std::string session_expires = "";
  std::map<std::string, UserRole> projects = {};  // none of an operator
  std::string project = "";                       // that the request works in; empty: it is about the service
  // Who has every right in every project.
  bool is_operator() const { return role == UserRole::admin; }
};

// A request that has found its route.
struct Call {
  Request& request;
  Caller caller;
  std::map<std::string, std::string> parts;  // of the path, by their names

  // The body as JSON, with bounds on its size and depth; refuses what is none.
  config::Value body() const;
  nlohmann::json json() const;
  const std::string& part(const std::string& name) const { return parts.at(name); }
  const std::string& project() const { return caller.project; }
  // Of the query. Refuse what is no such number, or out of range.
  std::string text(const std::string& name, const std::string& otherwise = "") const;
  std::int64_t number(const std::string& name, std::int64_t otherwise, std::int64_t least,
                      std::int64_t most) const;
  bool truth(const std::string& name) const;  // true or false; false where it is not there
};

struct Parameter {  // of the query, or a header
  std::string name;
  std::string help;
  nlohmann::json schema = {{"type", "string"}};
  std::string place = "query";
};

struct Answer {  // that a route may give
  int status = 200;
  std::string help;
  nlohmann::json schema = nlohmann::json::object();
  std::string type = "application/json";
  nlohmann::json example = nullptr;
};

enum class Access { anybody, viewer, user, admin };

// One thing that can be asked of the service: what happens, and what is told of it in the OpenAPI document.
struct Route {
  std::string method;
  std::string path;  // "/api/training/jobs/{id}"; "{path*}" at its end takes slashes too
  std::string name;  // of the operation
  std::string help;
  Access access = Access::viewer;
  std::function<Response(Call&)> answer;
  std::vector<Parameter> parameters = {};
  nlohmann::json body = nullptr;  // its schema; null: none is read
  std::vector<std::string> body_types = {"application/json"};
  std::vector<Answer> answers = {};
  std::uint64_t most_body = 1 << 20;
  bool is_upload = false;            // the body goes to a file
  nlohmann::json example = nullptr;  // of a body
  // See Site::is_quick; null: never. Without a body it is asked about the head.
  std::function<bool(const Request& request, const std::map<std::string, std::string>& parts)> is_quick = {};
  bool is_page = false;          // for browsers: no part of the described API
  bool changes_nothing = false;  // though it is no GET: such requests are in no audit log, and may be many
};

// An answer that is an error: its status and a sentence for people.
class HttpError : public std::runtime_error {
 public:
  HttpError(int status, const std::string& message) : std::runtime_error(message), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

Response json_response(const nlohmann::json& json, int status = 200);
Response error_response(int status, const std::string& message);

// Finds the route of a request.
class Routes {
 public:
  void add(Route route);
  void add(std::vector<Route> routes);
  const std::vector<Route>& all() const { return routes_; }

  struct Found {
    const Route* route = nullptr;  // null: there is none
    std::map<std::string, std::string> parts;
    std::vector<std::string> allowed;  // methods, where the path is known and the method is not
  };
  Found find(const std::string& method, const std::string& path) const;

 private:
  std::vector<Route> routes_;
  std::vector<std::vector<std::string>> patterns_;  // parts of their paths
};

}  // namespace stoker::serve
