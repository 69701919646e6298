#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/http.h"
#include "serve/http/route.h"
#include "store/token_store.h"

namespace stoker::serve {

struct GateConfig {
  bool is_on_loopback = true;
  std::vector<std::string> public_names;  // that people reach the service by, beside those of this machine
  std::chrono::seconds session_time = std::chrono::hours(12);
};

// A session as a browser gets it; only hashes of it are kept.
struct OpenedSession {
  Caller caller;
  std::string cookie;  // the header that sets it
  std::string csrf_token;
  std::string expires;
};

// Who comes in: by a token, or as a browser with a session that was opened with one.
class Gate {
 public:
  Gate(GateConfig config, TokenStore& tokens);

  // None: nobody who is known. What the store says counts for a second.
  std::optional<Caller> caller_of(const Request& request);
  bool is_still_good(const Caller& caller);
  // Whether caller_of() can tell without the store, as of one who was here a moment ago.
  bool knows(const Request& request);

  // A name that others gave this address could make a browser bring their pages' requests here.
  bool knows_host(const Request& request) const;
  // Why a request that changes something may be the work of another site's page; empty: it is not.
  std::string why_forged(const Request& request, const std::optional<Caller>& caller) const;

  // None: the token is not good.
  std::optional<OpenedSession> open_session(const std::string& token, const Request& request);
  // The session of the request, as it was answered when it was opened; none: it came with a token.
  std::optional<OpenedSession> session_of(const Request& request, const Caller& caller);
  // Returns the header that takes the cookie away.
  std::string end_session(const Request& request, const Caller& caller);
  // Of a token that was revoked just now, without waiting for the second to be over.
  void forget(const std::string& token_id);

 private:
  struct Known {
    std::optional<Caller> caller;
    std::chrono::steady_clock::time_point until;
  };
  std::optional<Caller> look_up(const std::string& key, const std::string& secret);
  void remember(const std::string& key, const std::optional<Caller>& caller);

  GateConfig config_;
  TokenStore& tokens_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;  // by what it was found by: a hash of what was sent, or an id
};

bool changes_something(std::string_view method);
// "Bearer …", or empty.
std::string bearer_token(const Request& request);

}  // namespace stoker::serve
