#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"
#include "store/records.h"

namespace stoker {

// What somebody with a token may do in a project: look; also start, stop and change things. An admin may do
// that in all projects, and sees to tokens.
enum class UserRole { viewer, user, admin };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::UserRole>{"viewer", "user",
                                                                                         "admin"};

namespace stoker {

struct TokenRecord {
  std::string id;
  std::string name;
  UserRole role = UserRole::user;            // admin: in all projects; else the highest of `projects`
  std::map<std::string, UserRole> projects;  // its roles, by the ids of the projects; none of an admin
  std::string hash;  // SHA-256: a token has 256 random bits, which nobody guesses from it
  std::string created;
  std::string expires;  // empty: never
  std::string revoked;  // empty: it is good
};

// Neither revoked nor over.
bool is_good(const TokenRecord& token);

struct SessionRecord {
  std::string hash;  // of what the cookie holds
  std::string token;
  std::string csrf_hash;
  std::string created;
  std::string expires;
};

// Who may use the service. Tokens and sessions are kept as hashes alone.
class TokenStore {
 public:
  explicit TokenStore(Records& records) : records_(records) {}

  // Returns the token, which cannot be had again. Refuses a name that cannot be shown, and one that a good
  // token has: by its name alone nobody could tell which is meant.
  // An admin has all projects. Anybody else has the roles of `projects`; without any, `role` in `default`.
  using Memberships = std::map<std::string, UserRole>;  // viewer or user, by the ids of projects
  std::string create(const std::string& name, UserRole role, const std::string& expires = "",
                     Memberships projects = {});
  // By the id of a token that is no admin's. Refuses a token or a project that is not there.
  void grant(const std::string& id, const std::string& project, UserRole role);
  bool withdraw(const std::string& id, const std::string& project);  // false: it was no member
  std::vector<TokenRecord> all();
  // By id or name. Sessions that were opened with it end too. Refuses one that is not there, and a name that
  // several good ones have, as earlier versions allowed.
  void revoke(const std::string& id);
  // By the token itself, if it is good.
  std::optional<TokenRecord> find(const std::string& token);
  std::optional<TokenRecord> find_by_id(const std::string& id);

  // Of one token there are so many at most; the oldest makes room.
  static constexpr int most_sessions = 100;
  void add_session(const SessionRecord& session);
  std::optional<SessionRecord> find_session(const std::string& hash);
  void remove_session(const std::string& hash);
  void remove_expired_sessions();

 private:
  void add_memberships(std::vector<TokenRecord>& tokens);
  std::optional<TokenRecord> find_good(const std::string& column, const std::string& value);

  Records& records_;
};

// When it will be so many seconds later, as time_stamp_utc() has it.
std::string time_stamp_in(double seconds);
// 256 bits of the system's randomness, as text that is safe in an address and a header.
std::string random_secret();
std::string random_id();  // a UUID, version 4
std::string hash_of_secret(std::string_view secret);

}  // namespace stoker
