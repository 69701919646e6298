#include "database/postgres/postgres_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <poll.h>

#include "base/error.h"
#include "base/text/text.h"
#include "database/postgres/lost_clients.h"
#include "database/postgres/postgres_library.h"
#include "database/postgres/postgres_options.h"

namespace stoker::database {
namespace {

constexpr int look_at_stop_every = 100;  // milliseconds
constexpr int severity_code = 'S';
constexpr int state_code = 'C';
constexpr int message_code = 'M';
constexpr int detail_code = 'D';
constexpr int hint_code = 'H';

const PostgresLibrary& pq() {
  return postgres_library();
}

std::string in_one_line(std::string_view text) {
  std::vector<std::string> lines;
  for (std::string& line : split_text(text, '\n')) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string::npos) lines.push_back(line.substr(first));
  }
  return join(lines, "; ");
}

constexpr const char* name_of_setting = "uri";

// What must not be shown of an address.
std::vector<std::string> secrets_in(const std::string& address, const std::string& called) {
  std::vector<std::string> secrets;
  if (const char* password = std::getenv("PGPASSWORD")) secrets.emplace_back(password);
  if (address.empty()) return secrets;
  const PostgresOptions options = postgres_options(address, called);
  for (const ConnectionOption* option = options.get(); option->keyword != nullptr; ++option) {
    const std::string_view keyword = option->keyword;
    const bool is_secret = keyword.find("password") != std::string_view::npos;
    if (is_secret && option->value != nullptr) secrets.emplace_back(option->value);
  }
  secrets.push_back(address);
  return secrets;
}

std::string field_of(const PGresult* result, int code) {
  const char* text = pq().result_field(result, code);
  return text == nullptr ? "" : text;
}

// The request is as it should be, and the same may succeed another time: too many connections, a server
// that is going down, a conflict with recovery.
bool is_of_the_moment(const std::string& state) {
  for (const char* group : {"08", "53", "57P", "40"})
    if (state.starts_with(group)) return true;
  return false;
}

}  // namespace

std::string postgres_place(const std::string& address) {
  static const std::array<std::string_view, 7> telling{"service", "host", "hostaddr", "port",
                                                       "dbname",  "user", "options"};
  std::string place;
  const PostgresOptions options = postgres_options(address, name_of_setting);
  for (const ConnectionOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (std::ranges::find(telling, std::string_view(option->keyword)) == telling.end()) continue;
    const char* own = option->environment == nullptr ? nullptr : std::getenv(option->environment);
    const char* value = option->value != nullptr ? option->value : own != nullptr ? own : option->compiled;
    place += fmt::format("{}={}\n", option->keyword, value == nullptr ? "" : value);
  }
  return place;
}

void PostgresConnection::EndsConnection::operator()(PGconn* connection) const {
  pq().finish(connection);
}
void PostgresConnection::ClearsResult::operator()(PGresult* result) const {
  pq().clear(result);
}

PostgresConnection::PostgresConnection(const std::string& address, const std::string& snapshot,
                                       const StopSignal& stop)
    : stop_(stop), secrets_(secrets_in(address, name_of_setting)) {
  connect(address, "PostgreSQL");
  end_queries_of_lost_clients();
  rows_of("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  // A snapshot has digits, letters and dashes alone; it is quoted all the same.
  if (!snapshot.empty()) {
    if (snapshot.find('\'') != std::string::npos)
      refuse("the server has a snapshot with a quote in its name");
    rows_of("SET TRANSACTION SNAPSHOT '" + snapshot + "'");
  }
  // Scans that begin where another one is, and several processes that share one, give rows in another order
  // each time.
  rows_of("SET LOCAL synchronize_seqscans = off");
  rows_of("SET LOCAL max_parallel_workers_per_gather = 0");
}

PostgresConnection::PostgresConnection(const Address& address, const StopSignal& stop)
    : stop_(stop), secrets_(secrets_in(address.text, address.called)) {
  connect(address.text, "the PostgreSQL of " + address.called);
}

void PostgresConnection::end_queries_of_lost_clients() {
  const int version = pq().server_version(connection_.get());
  for (const std::string& statement : statements_for_lost_clients(version, seconds_of_queries())) {
    try {
      rows_of(statement);
      return;
    } catch (const Error& error) {
      if (error.cause() != Cause::request || is_lost()) throw;
    }
  }
}

void PostgresConnection::connect(const std::string& address, const std::string& server) {
  std::vector<const char*> keywords{"client_encoding", "fallback_application_name"};
  std::vector<const char*> values{"UTF8", "stoker"};
  if (std::getenv("PGCONNECT_TIMEOUT") == nullptr) {
    keywords.push_back("connect_timeout");  // in seconds; the address comes behind it and may say another
    values.push_back("10");
  }
  if (!address.empty()) {
    keywords.push_back("dbname");
    values.push_back(address.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  heed_stop();
  connection_.reset(pq().connect(keywords.data(), values.data(), 1));
  if (connection_ == nullptr) throw OutOfMemory("out of memory for a connection to PostgreSQL");
  if (const char* password = pq().password(connection_.get())) secrets_.emplace_back(password);
  if (pq().status(connection_.get()) != ConnectionStatus::ok) {
    throw Error(ExitCode::wrong_request,
                fmt::format("there is no connection to {}: {}", server,
                            without_secrets(in_one_line(pq().error(connection_.get())))),
                Cause::machine);
  }
}

std::string PostgresConnection::without_secrets(std::string message) const {
  constexpr std::string_view hidden = "***";
  for (const std::string& secret : secrets_) {
    if (secret.empty()) continue;
    for (std::size_t at = message.find(secret); at != std::string::npos;
         at = message.find(secret, at + hidden.size()))
      message.replace(at, secret.size(), hidden);
  }
  return message;
}

void PostgresConnection::refuse_lost() const {
  const std::string reason = without_secrets(in_one_line(pq().error(connection_.get())));
  throw Error(
      ExitCode::wrong_request,
      fmt::format("the connection to PostgreSQL was lost before all rows had come{}{}; run again when "
                  "the server can be reached",
                  reason.empty() ? "" : ": ", reason),
      Cause::machine);
}

void PostgresConnection::refuse_error(const PGresult* result) const {
  if (result == nullptr) refuse_lost();
  const std::string state = field_of(result, state_code);
  if (state.empty()) refuse_lost();
  std::string message = field_of(result, message_code);
  for (const int code : {detail_code, hint_code}) {
    const std::string more = field_of(result, code);
    if (!more.empty()) message += "; " + more;
  }
  const bool ends = field_of(result, severity_code) == "FATAL" || state.starts_with("57P");
  throw Error(ExitCode::wrong_request,
              fmt::format("PostgreSQL {}: {}", ends ? "ended the connection" : "refused the request",
                          without_secrets(in_one_line(message))),
              is_of_the_moment(state) ? Cause::machine : Cause::request);
}

void PostgresConnection::heed_stop() {
  const StopReason reason = stop_.reason();
  if (reason == StopReason::none) return;
  if (connection_ != nullptr) {
    if (PGcancel* const cancel = pq().get_cancel(connection_.get())) {
      std::array<char, 256> error{};
      pq().cancel(cancel, error.data(), static_cast<int>(error.size()));
      pq().free_cancel(cancel);
    }
  }
  if (reason == StopReason::interrupted)
    throw Error(ExitCode::interrupted, "reading from PostgreSQL was interrupted");
  fail("reading from PostgreSQL did not finish in the time allowed");
}

void PostgresConnection::wait_for_input() {
  pollfd waits{pq().socket(connection_.get()), POLLIN, 0};
  for (;;) {
    heed_stop();
    const int ready = ::poll(&waits, 1, look_at_stop_every);
    if (ready > 0) break;
    if (ready < 0 && errno != EINTR) fail("waiting for PostgreSQL: {}", std::strerror(errno));
  }
  if (pq().consume(connection_.get()) == 0) refuse_lost();
}

PostgresConnection::Result PostgresConnection::next_result() {
  while (pq().is_busy(connection_.get()) != 0) wait_for_input();
  return Result(pq().result(connection_.get()));
}

PostgresConnection::Result PostgresConnection::only_result() {
  Result first = next_result();
  while (first != nullptr) {
    const Result next = next_result();
    if (next == nullptr) break;
  }
  const ResultStatus status = pq().result_status(first.get());
  if (status != ResultStatus::command_ok && status != ResultStatus::tuples_ok) refuse_error(first.get());
  return first;
}

void PostgresConnection::send(const std::string& text, const TextRow& parameters) {
  std::vector<const char*> values;
  for (const std::optional<std::string>& each : parameters) values.push_back(each ? each->c_str() : nullptr);
  if (pq().send_query(connection_.get(), text.c_str(), static_cast<int>(values.size()), nullptr,
                      values.data(), nullptr, nullptr, 0) == 0)
    refuse_lost();
}

std::vector<PostgresConnection::TextRow> PostgresConnection::rows_of(
    const std::string& text, const std::vector<std::string>& parameters) {
  return run(text, TextRow(parameters.begin(), parameters.end()));
}

std::vector<PostgresConnection::TextRow> PostgresConnection::run(const std::string& text,
                                                                 const TextRow& parameters) {
  send(text, parameters);
  const Result result = only_result();
  std::vector<TextRow> rows;
  for (int row = 0; row < pq().tuples(result.get()); ++row) {
    rows.emplace_back();
    for (int field = 0; field < pq().fields(result.get()); ++field) {
      rows.back().emplace_back();
      if (pq().is_null(result.get(), row, field) == 0)
        rows.back().back() = pq().value(result.get(), row, field);
    }
  }
  return rows;
}

std::vector<PostgresConnection::Column> PostgresConnection::columns_of(const std::string& text) {
  if (pq().send_prepare(connection_.get(), "", text.c_str(), 0, nullptr) == 0) refuse_lost();
  only_result();
  if (pq().send_describe(connection_.get(), "") == 0) refuse_lost();
  const Result result = only_result();
  std::vector<Column> columns;
  for (int field = 0; field < pq().fields(result.get()); ++field)
    columns.push_back({pq().name(result.get(), field), pq().type(result.get(), field)});
  return columns;
}

void PostgresConnection::copy(const std::string& text,
                              const std::function<void(std::string_view message)>& take) {
  send(text, {});
  {
    const Result begun = next_result();
    if (begun == nullptr || pq().result_status(begun.get()) != ResultStatus::copy_out)
      refuse_error(begun.get());
  }
  constexpr int ended = -1;
  constexpr int failed = -2;
  constexpr unsigned messages_between_looks = 1U << 14U;
  for (unsigned messages = 1;; ++messages) {
    if (messages % messages_between_looks == 0) heed_stop();
    char* message = nullptr;
    const int size = pq().copy_data(connection_.get(), &message, 1);
    const std::unique_ptr<char, void (*)(void*)> frees(message, pq().free_memory);
    if (size > 0) {
      take({message, static_cast<std::size_t>(size)});
    } else if (size == 0) {
      wait_for_input();
    } else if (size == failed) {
      refuse_lost();
    } else if (size == ended) {
      break;
    }
  }
  only_result();
}

bool PostgresConnection::is_lost() const {
  return pq().status(connection_.get()) != ConnectionStatus::ok;
}

std::string PostgresConnection::snapshot() {
  return rows_of("SELECT pg_export_snapshot()").at(0).at(0).value();
}

}  // namespace stoker::database
