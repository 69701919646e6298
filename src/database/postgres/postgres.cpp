#include "database/postgres/postgres.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/text/text.h"
#include "database/postgres/postgres_connection.h"
#include "database/postgres/postgres_copy.h"
#include "database/postgres/postgres_types.h"
#include "database/postgres/role_rights.h"

namespace stoker::database {
namespace {

constexpr std::int64_t pages_worth_a_connection = 2048;  // 16 MiB
constexpr unsigned most_connections_unasked = 4;

// What is to be read, once the server has been asked about it.
struct Plan {
  std::string rows;  // a table as SQL has it, or a query in brackets
  std::vector<ColumnForm> forms;
  std::vector<PostgresType> types;
  std::vector<std::string> conditions;  // one for each connection
};

std::int64_t whole_number(const std::optional<std::string>& text) {
  std::int64_t number = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

struct FoundTable {
  std::string name;  // as SQL has it
  bool has_pages = false;
  std::int64_t pages = 0;
};

std::vector<std::string> visible_tables(PostgresConnection& connection) {
  std::vector<std::string> names;
  for (const auto& row :
       connection.rows_of("SELECT relname FROM pg_class WHERE relkind IN ('r','p','v','m','f') "
                          "AND pg_table_is_visible(oid) AND relnamespace NOT IN "
                          "('pg_catalog'::regnamespace, 'information_schema'::regnamespace) "
                          "ORDER BY relname LIMIT 200"))
    names.push_back(row.at(0).value_or(""));
  return names;
}

// The name as it stands, with a schema before a point, else as SQL would take it: in small letters unless
// quoted.
FoundTable find_table(PostgresConnection& connection, const std::string& table) {
  std::vector<std::string> forms{quoted_name(table)};
  const std::size_t point = table.find('.');
  if (point != std::string::npos)
    forms.push_back(quoted_name(table.substr(0, point)) + "." + quoted_name(table.substr(point + 1)));
  forms.push_back(table);
  for (const std::string& form : forms) {
    if (form == table && table.find_first_of("\"'; \t\n") != std::string::npos) continue;
    const auto rows = connection.rows_of(
        "SELECT c.oid::regclass::text, c.relkind, CASE WHEN c.relkind IN ('r','m') THEN "
        "pg_relation_size(c.oid) / "
        "current_setting('block_size')::bigint ELSE 0 END FROM pg_class c WHERE c.oid = to_regclass($1)",
        {form});
    if (rows.empty()) continue;
    const std::string kind = rows[0].at(1).value_or("");
    if (std::string_view("rpvmf").find(kind) == std::string_view::npos)
      refuse("'{}' is not a table or a view", table);
    return {rows[0].at(0).value(), kind == "r" || kind == "m", whole_number(rows[0].at(2))};
  }
  const std::vector<std::string> names = visible_tables(connection);
  const std::string meant = did_you_mean(table, names);
  if (!meant.empty() || names.empty()) refuse("the database has no table '{}'{}", table, meant);
  constexpr std::size_t most_shown = 20;
  refuse("the database has no table '{}'; it has {}{}", table,
         join(std::span(names).first(std::min(names.size(), most_shown)), ", "),
         names.size() > most_shown ? ", …" : "");
}

[[noreturn]] void refuse_type(PostgresConnection& connection, const PostgresConnection::Column& column) {
  const auto rows = connection.rows_of("SELECT format_type($1::oid, NULL)", {fmt::format("{}", column.type)});
  refuse(
      "column '{}' has the type {}, which cannot be read; cast it in a query ({}::text, or a number such as "
      "extract(epoch from {})), or leave it out with columns",
      column.name, rows.empty() ? "?" : rows[0].at(0).value_or("?"), quoted_name(column.name),
      quoted_name(column.name));
}

// Enumerations and texts of extensions are sent as the text they are.
bool is_sent_as_text(PostgresConnection& connection, unsigned type) {
  return !connection
              .rows_of(
                  "SELECT 1 FROM pg_type t JOIN pg_proc p ON p.oid = t.typsend WHERE t.oid = $1::oid AND "
                  "p.proname IN ('enum_send', 'textsend', 'citextsend')",
                  {fmt::format("{}", type)})
              .empty();
}

std::vector<std::string> names_of(const std::vector<PostgresConnection::Column>& columns) {
  std::vector<std::string> names;
  for (const auto& column : columns) names.push_back(column.name);
  return names;
}

void describe_columns(PostgresConnection& connection, const std::string& text, Plan& plan) {
  for (const PostgresConnection::Column& column : connection.columns_of(text)) {
    std::optional<PostgresType> type = postgres_type(column.type);
    if (!type && is_sent_as_text(connection, column.type)) type = PostgresType{};
    if (!type) refuse_type(connection, column);
    plan.forms.push_back({column.name, type->type, type->is_array});
    plan.types.push_back(*type);
  }
}

int connections_for(const Selection& selection, const FoundTable& table) {
  if (selection.partitions) return *selection.partitions;
  if (!table.has_pages || !selection.partition_column.empty()) return 1;
  const std::int64_t worth = table.pages / pages_worth_a_connection;
  const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1U, most_connections_unasked);
  return static_cast<int>(std::clamp<std::int64_t>(worth, 1, cores));
}

// Rows lie in pages, and a scan goes through them in order: ranges of pages one behind the other are the
// whole table in its own order.
std::vector<std::string> page_ranges(std::int64_t pages, int count) {
  std::vector<std::string> ranges;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string from = fmt::format("ctid >= '({},0)'::tid", pages * i / count);
    const std::string to = fmt::format("ctid < '({},0)'::tid", pages * (i + 1) / count);
    ranges.push_back(i == 0 ? to : i + 1 == count ? from : from + " AND " + to);
  }
  return ranges;
}

// Equal shares of the way from the least to the greatest; rows without a number go with the first.
std::vector<std::string> key_ranges(PostgresConnection& connection, const std::string& rows,
                                    const Selection& selection, int count) {
  const std::string key = quoted_name(selection.partition_column);
  const std::vector<PostgresConnection::Column> described =
      connection.columns_of(select_text(rows, {selection.partition_column}, {}));
  constexpr unsigned int16_type = 21;
  constexpr unsigned int32_type = 23;
  constexpr unsigned int64_type = 20;
  const unsigned type = described.at(0).type;
  if (type != int16_type && type != int32_type && type != int64_type)
    refuse("partition_column '{}' does not hold whole numbers", selection.partition_column);
  std::string text = "SELECT min(" + key + "), max(" + key + ") FROM (" +
                     select_text(rows, {selection.partition_column}, {selection.where}) + ") AS keys";
  const auto found = connection.rows_of(text).at(0);
  if (!found.at(0)) return {""};
  // The way between may be longer than signed numbers go.
  const auto least = static_cast<std::uint64_t>(whole_number(found.at(0)));
  const std::uint64_t way = static_cast<std::uint64_t>(whole_number(found.at(1))) - least;
  const auto shares = static_cast<std::uint64_t>(count);
  const auto edge = [&](std::uint64_t at) {
    return static_cast<std::int64_t>(least + way / shares * at + way % shares * at / shares);
  };
  std::vector<std::string> ranges;
  for (std::uint64_t i = 0; i < shares; ++i) {
    const std::string from = fmt::format("{} >= {}", key, edge(i));
    const std::string to = i + 1 < shares ? fmt::format("{} < {}", key, edge(i + 1)) : "";
    ranges.push_back(i == 0 ? "(" + to + ") OR " + key + " IS NULL"
                            : from + (to.empty() ? "" : " AND " + to));
  }
  return ranges;
}

void refuse_unless_query(const std::vector<PostgresConnection::Column>& columns) {
  if (columns.empty()) refuse("the query gives no columns; it must be one SELECT");
}

Plan plan_of(PostgresConnection& connection, const Selection& selection) {
  Plan plan;
  FoundTable table;
  const std::string query = statement_of(selection.query);
  std::vector<PostgresConnection::Column> there;
  if (query.empty()) {
    table = find_table(connection, selection.table);
    plan.rows = table.name;
    there = connection.columns_of("SELECT * FROM " + plan.rows);
  } else {
    // By itself first: what is one whole statement alone cannot close the brackets around it.
    there = connection.columns_of(query);
    refuse_unless_query(there);
    plan.rows = "(\n" + query + "\n) AS selected";
  }
  refuse_missing_columns(selection, names_of(there));
  const int count = connections_for(selection, table);
  if (count > 1 && selection.partition_column.empty()) {
    if (!table.has_pages)
      refuse("partitions: {} cannot be divided by pages; name a partition_column of whole numbers",
             query.empty() ? fmt::format("'{}' is not a plain table and", selection.table) : "a query");
    plan.conditions = page_ranges(table.pages, count);
  } else if (count > 1) {
    if (const auto names = names_of(there);
        std::ranges::find(names, selection.partition_column) == names.end())
      refuse("there is no partition_column '{}'{}", selection.partition_column,
             did_you_mean(selection.partition_column, names));
    plan.conditions = key_ranges(connection, plan.rows, selection, count);
  } else {
    plan.conditions = {""};
  }
  describe_columns(connection, select_text(plan.rows, selection.columns, {selection.where}), plan);
  return plan;
}

// A plain query is copied as it stands: rows of a query within a query need not keep its order.
std::string copy_text(const Plan& plan, const Selection& selection, const std::string& condition) {
  const std::string query = statement_of(selection.query);
  const bool is_plain =
      !query.empty() && selection.columns.empty() && selection.where.empty() && condition.empty();
  return "COPY (\n" +
         (is_plain ? query : select_text(plan.rows, selection.columns, {selection.where, condition})) +
         "\n) TO STDOUT (FORMAT binary)";
}

// Reads all parts at a time, each by a connection of its own. When one fails the others stop, and its error
// is the one that is told.
class PartsReader {
 public:
  PartsReader(const std::string& address, const Selection& selection, const StopSignal& stop)
      : address_(address), selection_(selection) {
    stop_.heed(stop);
  }

  Rows read() {
    PostgresConnection first(address_, "", stop_);
    if (reads_with_plain_roles_only()) refuse_privileged_role(first);
    plan_ = plan_of(first, selection_);
    parts_.resize(plan_.conditions.size());
    const std::string snapshot = parts_.size() > 1 ? first.snapshot() : "";
    {
      std::vector<std::jthread> others;
      for (std::size_t i = 1; i < parts_.size(); ++i)
        others.emplace_back([this, i, &snapshot] {
          watched([&] {
            PostgresConnection own(address_, snapshot, stop_);
            read_part(own, i);
          });
        });
      watched([&] { read_part(first, 0); });
    }
    if (error_) std::rethrow_exception(error_);
    return joined();
  }

 private:
  struct Part {
    std::vector<Block> blocks;
    std::optional<RowProblem> problem;
  };

  template <class Work>
  void watched(const Work& work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      stop_.interrupt();
    }
  }

  void read_part(PostgresConnection& connection, std::size_t i) {
    CopyDecoder decoder(plan_.forms, plan_.types);
    try {
      connection.copy(copy_text(plan_, selection_, plan_.conditions[i]),
                      [&](std::string_view message) { decoder.take(message); });
    } catch (const RowProblem& problem) {
      parts_[i].problem = problem;
      return;
    }
    if (!decoder.is_at_end()) refuse("the server ended before all rows had come");
    parts_[i].blocks = decoder.finish();
  }

  Rows joined() {
    Rows rows{plan_.forms, {}};
    for (Part& part : parts_) {
      if (part.problem) throw RowProblem{rows.rows() + part.problem->row, part.problem->message};
      for (Block& block : part.blocks) rows.blocks.push_back(std::move(block));
    }
    settle_shapes(rows);
    return rows;
  }

  const std::string& address_;
  const Selection& selection_;
  StopSignal stop_;
  Plan plan_;
  std::vector<Part> parts_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

Rows read_postgres(const std::string& address, const Selection& selection, const StopSignal* stop) {
  static const StopSignal never;
  try {
    return PartsReader(address, selection, stop == nullptr ? never : *stop).read();
  } catch (const RowProblem& problem) {
    refuse("row {}: {}", problem.row + 1, problem.message);
  }
}

}  // namespace stoker::database
