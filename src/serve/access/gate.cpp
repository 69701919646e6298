#include "serve/access/gate.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/text.h"

namespace stoker::serve {
namespace {

using std::chrono::steady_clock;

constexpr auto known_for = std::chrono::seconds(1);
constexpr std::size_t most_known = 4096;

struct Place {  // of a service, as a browser knows it
  std::string host;
  std::string port;  // empty: that of its scheme
  bool operator==(const Place&) const = default;
};

// "localhost:8000", "[::1]:8000", "example.org".
Place place_in(std::string_view text) {
  const std::size_t end_of_address = text.starts_with('[') ? text.find(']') : 0;
  const std::size_t colon =
      end_of_address == std::string_view::npos ? std::string_view::npos : text.find(':', end_of_address);
  Place place{lower_case(text.substr(0, colon)),
              colon == std::string_view::npos ? "" : std::string(text.substr(colon + 1))};
  if (place.host.ends_with('.')) place.host.pop_back();  // the same name, written in full
  return place;
}

Place without_usual_port(Place place, bool is_encrypted) {
  if (place.port == (is_encrypted ? "443" : "80")) place.port.clear();
  return place;
}

bool is_number_address(std::string_view host) {
  if (host.starts_with('[')) return host.ends_with(']');
  return !host.empty() &&
         std::ranges::all_of(host, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

// Cookies are shared by all ports of a machine; the name keeps two services on it apart.
std::string cookie_name(const Request& request) {
  const std::string port = place_in(request.header("host")).port;
  const bool is_number = std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  return port.empty() || !is_number ? "stoker_session" : "stoker_session_" + port;
}

std::string session_secret(const Request& request) {
  std::string_view rest = request.header("cookie");
  const std::string name = cookie_name(request);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    std::string_view pair = rest.substr(0, end);
    rest = end < rest.size() ? rest.substr(end + 1) : std::string_view();
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with('='))
      return std::string(pair.substr(name.size() + 1));
  }
  return "";
}

// From what the cookie holds, so that a page that was loaded again can be told it again.
std::string csrf_token_of(const std::string& secret) {
  return hash_of_secret("csrf token of session " + secret);
}

std::string cookie_header(const Request& request, const std::string& value, std::int64_t seconds) {
  const bool is_secure = request.is_encrypted || request.header("origin").starts_with("https://");
  return fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{}", cookie_name(request), value,
                     seconds, is_secure ? "; Secure" : "");
}

struct Sent {
  std::string key;  // empty: nothing
  std::string secret;
};

// Who sends a token means it; a cookie is sent along by the browser.
Sent what_was_sent(const Request& request) {
  const bool is_token = !request.header("authorization").empty();
  std::string secret = is_token ? bearer_token(request) : session_secret(request);
  if (secret.empty()) return {};
  return {(is_token ? "t" : "s") + hash_of_secret(secret), std::move(secret)};
}

}  // namespace

bool changes_something(std::string_view method) {
  return method != "GET" && method != "HEAD" && method != "OPTIONS";
}

std::string bearer_token(const Request& request) {
  const std::string_view header = request.header("authorization");
  constexpr std::string_view scheme = "bearer ";
  if (header.size() <= scheme.size()) return "";
  return lower_case(header.substr(0, scheme.size())) == scheme ? std::string(header.substr(scheme.size()))
                                                               : "";
}

Gate::Gate(GateConfig config, TokenStore& tokens) : config_(std::move(config)), tokens_(tokens) {
  for (std::string& name : config_.public_names) name = lower_case(name);
}

// A key says by its first letter what it is: t, the hash of a token; s, that of a session; i, a token's id.
std::optional<Caller> Gate::look_up(const std::string& key, const std::string& secret) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(key);
    if (found != known_.end() && found->second.until > steady_clock::now()) return found->second.caller;
  }
  std::optional<TokenRecord> token;
  std::optional<SessionRecord> session;
  if (key.starts_with('t')) {
    token = tokens_.find(secret);
  } else if (key.starts_with('i')) {
    token = tokens_.find_by_id(key.substr(1));
  } else if ((session = tokens_.find_session(key.substr(1)))) {
    token = tokens_.find_by_id(session->token);
  }
  std::optional<Caller> caller;
  if (token) {
    caller = Caller{token->id, token->name, token->role};
    caller->projects = token->projects;
  }
  if (caller && session) {
    caller->session = session->hash;
    caller->csrf_hash = session->csrf_hash;
    caller->session_expires = session->expires;
  }
  remember(key, caller);
  return caller;
}

// Those who are not known are not remembered: there may be any number of them.
void Gate::remember(const std::string& key, const std::optional<Caller>& caller) {
  const auto now = steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (known_.size() > most_known)
    std::erase_if(known_, [&](const auto& each) { return each.second.until <= now; });
  if (caller) {
    known_[key] = {caller, now + known_for};
  } else {
    known_.erase(key);
  }
}

std::optional<Caller> Gate::caller_of(const Request& request) {
  const auto [key, secret] = what_was_sent(request);
  return key.empty() ? std::nullopt : look_up(key, secret);
}

bool Gate::knows(const Request& request) {
  const std::string key = what_was_sent(request).key;
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(key);
  return found != known_.end() && found->second.until > steady_clock::now();
}

bool Gate::is_still_good(const Caller& caller) {
  if (caller.token.empty()) return true;  // nobody was asked for
  const auto now = look_up(caller.session.empty() ? "i" + caller.token : "s" + caller.session, "");
  return now && (caller.project.empty() || now->is_operator() || now->projects.contains(caller.project));
}

bool Gate::knows_host(const Request& request) const {
  const std::string host = place_in(request.header("host")).host;
  if (host.empty() || host == "localhost" || host == "127.0.0.1" || host == "[::1]") return true;
  if (std::ranges::find(config_.public_names, host) != config_.public_names.end()) return true;
  if (config_.is_on_loopback) return false;
  // No name is in play where there is none, and where none was told any may be meant.
  return config_.public_names.empty() || is_number_address(host);
}

std::string Gate::why_forged(const Request& request, const std::optional<Caller>& caller) const {
  if (!changes_something(request.method)) return "";
  const std::string_view origin = request.header("origin");
  if (!origin.empty()) {
    const bool is_encrypted = origin.starts_with("https://");
    const std::size_t begin = is_encrypted ? 8 : 7;
    if (!is_encrypted && (!origin.starts_with("http://") || request.is_encrypted))
      return "it comes from the page of another site";
    const Place from = without_usual_port(place_in(origin.substr(begin)), is_encrypted);
    const Place here = without_usual_port(place_in(request.header("host")), is_encrypted);
    const bool is_public = std::ranges::find(config_.public_names, from.host) != config_.public_names.end();
    if (from != here && !is_public) return "it comes from the page of another site";
  }
  if (!caller || caller->session.empty()) return "";
  if (origin.empty() && request.header("sec-fetch-site") != "same-origin")
    return "a request with the cookie of a session must say where it comes from (Origin)";
  const std::string_view token = request.header("x-csrf-token");
  if (token.empty() || hash_of_secret(token) != caller->csrf_hash)
    return "X-CSRF-Token is missing, or is not that of the session";
  return "";
}

std::optional<OpenedSession> Gate::open_session(const std::string& token, const Request& request) {
  const auto record = tokens_.find(token);
  if (!record) return std::nullopt;
  tokens_.remove_expired_sessions();
  const std::string secret = random_secret();
  const std::string csrf_token = csrf_token_of(secret);
  const std::int64_t seconds = config_.session_time.count();
  std::string expires = time_stamp_in(static_cast<double>(seconds));
  if (!record->expires.empty()) expires = std::min(expires, record->expires);
  const SessionRecord session{hash_of_secret(secret), record->id, hash_of_secret(csrf_token),
                              time_stamp_utc(), expires};
  tokens_.add_session(session);
  return OpenedSession{
      {record->id, record->name, record->role, session.hash, session.csrf_hash, expires, record->projects},
      cookie_header(request, secret, seconds),
      csrf_token,
      expires};
}

std::optional<OpenedSession> Gate::session_of(const Request& request, const Caller& caller) {
  if (caller.session.empty()) return std::nullopt;
  return OpenedSession{caller, "", csrf_token_of(session_secret(request)), caller.session_expires};
}

std::string Gate::end_session(const Request& request, const Caller& caller) {
  if (!caller.session.empty()) {
    tokens_.remove_session(caller.session);
    remember("s" + caller.session, std::nullopt);
  }
  return cookie_header(request, "", 0);
}

void Gate::forget(const std::string& token_id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(
      known_, [&](const auto& each) { return each.second.caller && each.second.caller->token == token_id; });
}

}  // namespace stoker::serve
