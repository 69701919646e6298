#include "store/token_store.h"

#include <algorithm>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base/error.h"
#include "base/project_scope.h"
#include "base/text/text.h"
#include "database/writable.h"
#include "store/record/record_values.h"

namespace stoker {
namespace {

using database::Transaction;
using database::WrittenRow;
using database::WrittenValue;

constexpr const char* token_columns = "id, name, role, hash, created, expires, revoked";

TokenRecord token_in(const WrittenRow& row) {
  TokenRecord token;
  token.id = row.at(0).value_or("");
  token.name = row.at(1).value_or("");
  token.role = named_or_first<UserRole>(row.at(2));
  token.hash = row.at(3).value_or("");
  token.created = row.at(4).value_or("");
  token.expires = row.at(5).value_or("");
  token.revoked = row.at(6).value_or("");
  return token;
}

std::string hexadecimal_of(const unsigned char* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

template <std::size_t count>
std::array<unsigned char, count> random_bytes() {
  std::array<unsigned char, count> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(count)) != 1)
    fail("the system gives no random numbers, without which no token can be made");
  return bytes;
}

void check_name_of_token(const std::string& name) {
  constexpr std::size_t most_bytes = 100;
  if (name.empty() || name.size() > most_bytes || name.front() == ' ' || name.back() == ' ' ||
      printable(name) != name)
    refuse("a token is named after whoever has it, in 1 to {} bytes without control characters, not '{}'",
           most_bytes, printable(name.substr(0, most_bytes)));
}

// Two who make a token at the same moment come one after the other. A transaction of SQLite is alone anyway.
void lock_tokens(database::WritableDatabase& database) {
  if (database.is_postgres()) database.run("LOCK TABLE stoker_tokens IN SHARE ROW EXCLUSIVE MODE");
}

UserRole refuse_admin_of_project(UserRole role) {
  if (role == UserRole::admin)
    refuse("the role in a project is viewer or user; a token of the role admin has all projects");
  return role;
}

void insert_membership(database::WritableDatabase& database, const std::string& token,
                       const std::string& project, UserRole role) {
  if (database.run("SELECT 1 FROM stoker_projects WHERE id = $1", {project}).empty())
    refuse("there is no project '{}'", printable(project));
  database.run("INSERT INTO stoker_members (token, project, role) VALUES ($1, $2, $3)",
               {token, project, std::string(config::name_of(role))});
}

}  // namespace

bool is_good(const TokenRecord& token) {
  return token.revoked.empty() && (token.expires.empty() || token.expires > time_stamp_utc());
}

std::string time_stamp_in(double seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.000Z",
                     fmt::gmtime(std::time(nullptr) + static_cast<std::time_t>(seconds)));
}

std::string random_secret() {
  const auto bytes = random_bytes<32>();
  return hexadecimal_of(bytes.data(), bytes.size());
}

std::string random_id() {
  auto bytes = random_bytes<16>();
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0F) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3F) | 0x80);
  const std::string hex = hexadecimal_of(bytes.data(), bytes.size());
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4),
                     hex.substr(16, 4), hex.substr(20));
}

std::string hash_of_secret(std::string_view secret) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  if (EVP_Digest(secret.data(), secret.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1)
    fail("a hash could not be computed");
  return hexadecimal_of(digest.data(), length);
}

std::string TokenStore::create(const std::string& name, UserRole role, const std::string& expires,
                               Memberships projects) {
  check_name_of_token(name);
  if (role == UserRole::admin && !projects.empty())
    refuse("a token of the role admin has all projects; leave the projects out, or choose viewer or user");
  if (role != UserRole::admin && projects.empty()) projects[default_project] = role;
  if (role != UserRole::admin) role = UserRole::viewer;
  for (const auto& [project, of_project] : projects)
    role = std::max(role, refuse_admin_of_project(of_project));
  const auto held = records_.hold();
  const std::string secret = "stk_" + random_secret();
  Transaction all(records_.to_write());
  lock_tokens(records_.to_write());
  for (const TokenRecord& token : this->all())
    if (token.name == name && is_good(token))
      refuse("there is a good token named '{}' already (id {}); choose another name, or revoke it first",
             name, token.id);
  const std::string id = random_id();
  records_.to_write().run(
      "INSERT INTO stoker_tokens (id, name, role, hash, created, expires) VALUES ($1, $2, $3, $4, $5, $6)",
      {id, name, std::string(config::name_of(role)), hash_of_secret(secret), time_stamp_utc(),
       expires.empty() ? std::nullopt : WrittenValue(expires)});
  for (const auto& [project, of_project] : projects)
    insert_membership(records_.to_write(), id, project, of_project);
  all.commit();
  return secret;
}

void TokenStore::grant(const std::string& id, const std::string& project, UserRole role) {
  refuse_admin_of_project(role);
  const auto held = records_.hold();
  const auto token = find_by_id(id);
  if (!token) refuse("there is no good token with the id '{}'", printable(id));
  if (token->role == UserRole::admin)
    refuse("'{}' is a token of an admin, which has all projects", printable(token->name));
  Transaction all(records_.to_write());
  records_.to_write().run("DELETE FROM stoker_members WHERE token = $1 AND project = $2", {id, project});
  insert_membership(records_.to_write(), id, project, role);
  all.commit();
}

bool TokenStore::withdraw(const std::string& id, const std::string& project) {
  const auto held = records_.hold();
  Transaction all(records_.to_write());
  const bool was_member =
      !records_.to_write()
           .run("DELETE FROM stoker_members WHERE token = $1 AND project = $2 RETURNING token", {id, project})
           .empty();
  all.commit();
  return was_member;
}

void TokenStore::add_memberships(std::vector<TokenRecord>& tokens) {
  const std::string which = tokens.size() == 1 ? " WHERE token = $1" : "";
  std::vector<WrittenValue> values;
  if (tokens.size() == 1) values.emplace_back(tokens.front().id);
  for (const WrittenRow& row :
       records_.to_write().run("SELECT token, project, role FROM stoker_members" + which, values))
    for (TokenRecord& token : tokens)
      if (token.id == row.at(0).value_or("") && token.role != UserRole::admin)
        token.projects[row.at(1).value_or("")] = named_or_first<UserRole>(row.at(2));
  for (TokenRecord& token : tokens) {
    if (token.role == UserRole::admin) continue;
    token.role = UserRole::viewer;
    for (const auto& [project, role] : token.projects) token.role = std::max(token.role, role);
  }
}

std::vector<TokenRecord> TokenStore::all() {
  const auto held = records_.hold();
  std::vector<TokenRecord> tokens;
  for (const WrittenRow& row : records_.to_write().run(
           fmt::format("SELECT {} FROM stoker_tokens ORDER BY created, id", token_columns)))
    tokens.push_back(token_in(row));
  add_memberships(tokens);
  return tokens;
}

void TokenStore::revoke(const std::string& id) {
  const auto held = records_.hold();
  std::vector<std::string> names;
  std::vector<TokenRecord> found;
  for (const TokenRecord& token : all()) {
    if (token.id == id || token.name == id) found.push_back(token);
    if (token.revoked.empty()) names.push_back(token.name);
  }
  if (found.empty()) refuse("there is no token '{}'{}", printable(id), did_you_mean(id, names));
  std::vector<std::string> good;
  for (const TokenRecord& token : found)
    if (token.name == id && is_good(token)) good.push_back(token.id);
  if (good.size() > 1)
    refuse("{} good tokens are named '{}'; name the one that is meant by its id: {}", good.size(),
           printable(id), join(good, ", "));
  Transaction all(records_.to_write());
  for (const TokenRecord& token : found) {
    records_.to_write().run("UPDATE stoker_tokens SET revoked = $2 WHERE id = $1 AND revoked IS NULL",
                            {token.id, time_stamp_utc()});
    records_.to_write().run("DELETE FROM stoker_sessions WHERE token = $1", {token.id});
  }
  all.commit();
}

std::optional<TokenRecord> TokenStore::find_good(const std::string& column, const std::string& value) {
  const auto held = records_.hold();
  const auto rows = records_.to_write().run(
      fmt::format("SELECT {} FROM stoker_tokens WHERE {} = $1", token_columns, column), {value});
  if (rows.empty()) return std::nullopt;
  std::vector<TokenRecord> found{token_in(rows.front())};
  if (!is_good(found.front())) return std::nullopt;
  add_memberships(found);
  return std::move(found.front());
}

std::optional<TokenRecord> TokenStore::find(const std::string& token) {
  return find_good("hash", hash_of_secret(token));
}

std::optional<TokenRecord> TokenStore::find_by_id(const std::string& id) {
  return find_good("id", id);
}

void TokenStore::add_session(const SessionRecord& session) {
  const auto held = records_.hold();
  Transaction all(records_.to_write());
  records_.to_write().run(
      "INSERT INTO stoker_sessions (hash, token, csrf_hash, created, expires) VALUES ($1, $2, $3, $4, $5)",
      {session.hash, session.token, session.csrf_hash, session.created, session.expires});
  records_.to_write().run(
      "DELETE FROM stoker_sessions WHERE token = $1 AND hash NOT IN (SELECT hash FROM stoker_sessions WHERE "
      "token = $1 ORDER BY created DESC, hash LIMIT " +
          std::to_string(most_sessions) + ")",
      {session.token});
  all.commit();
}

std::optional<SessionRecord> TokenStore::find_session(const std::string& hash) {
  const auto held = records_.hold();
  const auto rows = records_.to_write().run(
      "SELECT hash, token, csrf_hash, created, expires FROM stoker_sessions WHERE hash = $1", {hash});
  if (rows.empty()) return std::nullopt;
  const WrittenRow& row = rows.front();
  SessionRecord session{row.at(0).value_or(""), row.at(1).value_or(""), row.at(2).value_or(""),
                        row.at(3).value_or(""), row.at(4).value_or("")};
  if (session.expires <= time_stamp_utc()) return std::nullopt;
  return session;
}

void TokenStore::remove_session(const std::string& hash) {
  const auto held = records_.hold();
  Transaction all(records_.to_write());
  records_.to_write().run("DELETE FROM stoker_sessions WHERE hash = $1", {hash});
  all.commit();
}

void TokenStore::remove_expired_sessions() {
  const auto held = records_.hold();
  Transaction all(records_.to_write());
  records_.to_write().run("DELETE FROM stoker_sessions WHERE expires <= $1", {time_stamp_utc()});
  all.commit();
}

}  // namespace stoker
