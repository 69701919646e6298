#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Requests and answers as everybody in this room but the server itself knows them.
namespace stoker::serve {

using Headers = std::vector<std::pair<std::string, std::string>>;  // names of requests in lower case

struct Request {
  std::string method;
  std::string path;  // decoded, from / on; nothing in it leads upwards
  std::map<std::string, std::string> query;
  Headers headers;
  std::string body;
  std::filesystem::path body_file;  // of an upload, in place of the body; removed after the answer
  std::string address;              // of the client
  bool is_encrypted = false;
  int connection = -1;  // its socket, while it is answered

  std::string_view header(std::string_view name) const;  // empty: there is none
  // Whether the client has closed the connection, so that nobody takes the answer.
  bool client_has_left() const;
};

// What is sent bit by bit for as long as there is more to come, such as events.
class Stream {
 public:
  virtual ~Stream() = default;
  // Asked several times a second, and may block for a moment: adds what there is by now. False: that was all.
  virtual bool more(std::string& text) = 0;
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::filesystem::path file;               // sent in place of the body
  std::shared_ptr<const void> file_keeper;  // while it is there, so is the file
  std::unique_ptr<Stream> stream;
  Headers headers;
  bool ends_connection = false;
};

// How the body of a request is received.
struct Reception {
  std::uint64_t most_bytes = 0;
  std::filesystem::path into;  // the file of an upload; empty: memory
};

// What is behind the server. Called from several threads at once.
class Site {
 public:
  virtual ~Site() = default;
  // Whether what comes next of this request, the check of its head or, once its body is there, the answer,
  // takes microseconds and waits for nobody. Then the server does it at once, instead of handing it to
  // another thread and back.
  virtual bool is_quick(const Request&) { return false; }
  // Before the body is read: an answer, where there is nothing to be read for.
  virtual std::optional<Response> refuse_early(const Request& head, Reception& reception) = 0;
  virtual Response answer(Request& request) = 0;
  // A request that is none: malformed, too large, too slow. The connection ends with it.
  virtual Response answer_to_malformed(int status, const std::string& why, const std::string& address) = 0;
};

// 400 "Bad Request" and so on.
std::string_view status_text(int status);
// "%20" and so on; none where it is malformed.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);
// Path and query of a request's target; false where it is malformed or leads upwards.
bool read_target(std::string_view target, Request& request);

}  // namespace stoker::serve
