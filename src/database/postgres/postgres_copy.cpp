#include "database/postgres/postgres_copy.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "database/postgres/big_endian.h"

// https://www.postgresql.org/docs/15/sql-copy.html, "Binary Format": a signature, flags and an extension,
// then rows: the number of values, and each value behind its length, -1 of NULL. -1 in place of the number
// ends it.
namespace stoker::database {
namespace {

constexpr std::string_view signature("PGCOPY\n\xff\r\n\0", 11);
constexpr std::size_t header_size = signature.size() + 8;
constexpr int most_dimensions = 6;  // PostgreSQL's own limit

[[noreturn]] void refuse_stream(const char* what) {
  throw Error(ExitCode::wrong_request,
              fmt::format("what the server sent is no binary copy of rows: {}", what), Cause::machine);
}

}  // namespace

CopyDecoder::CopyDecoder(const std::vector<ColumnForm>& forms, std::vector<PostgresType> types)
    : forms_(forms), types_(std::move(types)), writer_(forms, rows_of_a_block) {}

std::string_view CopyDecoder::after_header(std::string_view message) {
  if (!message.starts_with(signature) || message.size() < header_size) refuse_stream("it begins otherwise");
  const auto extension = big_endian<std::uint32_t>(message.data() + signature.size() + 4);
  if (extension > message.size() - header_size) refuse_stream("its header is cut off");
  has_header_ = true;
  return message.substr(header_size + extension);
}

void CopyDecoder::take(std::string_view message) {
  if (!has_header_) message = after_header(message);
  const char* at = message.data();
  const char* const end = at + message.size();
  while (at != end) at = take_row(at, end);
}

const char* CopyDecoder::take_row(const char* at, const char* end) {
  if (at_end_) refuse_stream("rows follow its end");
  if (end - at < 2) refuse_stream("a row is cut off");
  const int count = big_endian<std::int16_t>(at);
  at += 2;
  if (count == -1) {
    at_end_ = true;
    return at;
  }
  if (count < 0 || static_cast<std::size_t>(count) != forms_.size())
    refuse_stream("a row has another number of values than there are columns");
  for (std::size_t column = 0; column < forms_.size(); ++column) {
    if (end - at < 4) refuse_stream("a row is cut off");
    const auto length = big_endian<std::int32_t>(at);
    at += 4;
    if (length == -1) {
      writer_.put_missing(column);
      continue;
    }
    if (length < 0 || length > end - at) refuse_stream("a value is cut off");
    take_value(column, {at, static_cast<std::size_t>(length)});
    at += length;
  }
  writer_.end_row();
  return at;
}

void CopyDecoder::take_value(std::size_t column, std::string_view bytes) {
  const PostgresType& type = types_[column];
  if (type.is_array) return take_array(column, bytes);
  if (type.decode == nullptr)
    return writer_.put_text(column, type.to_text == nullptr ? bytes : type.to_text(bytes));
  if (const char* problem = type.decode(bytes, writer_.place(column))) refuse_value(column, problem);
}

void CopyDecoder::refuse_value(std::size_t column, const char* problem) const {
  throw RowProblem{writer_.rows(), fmt::format("column '{}' {}", forms_[column].name, problem)};
}

// Dimensions, flags and the type of elements, then the size and first index of each dimension, then elements
// like values of a row.
void CopyDecoder::take_array(std::size_t column, std::string_view bytes) {
  constexpr const char* damaged_array = "holds an array that is damaged";
  const PostgresType& type = types_[column];
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  if (bytes.size() < 12) refuse_value(column, damaged_array);
  const auto dimensions = big_endian<std::int32_t>(at);
  if (dimensions < 0 || dimensions > most_dimensions || end - at < 12 + 8 * std::int64_t{dimensions} ||
      big_endian<std::uint32_t>(at + 8) != type.element)
    refuse_value(column, damaged_array);
  at += 12;
  shape_.clear();
  std::int64_t count = dimensions == 0 ? 0 : 1;
  for (int d = 0; d < dimensions; ++d, at += 8) {
    shape_.push_back(big_endian<std::int32_t>(at));
    if (shape_.back() <= 0 || __builtin_mul_overflow(count, shape_.back(), &count))
      refuse_value(column, damaged_array);
  }
  if (count > (end - at) / 4) refuse_value(column, damaged_array);  // each element has a length at least
  std::byte* place = writer_.place_array(column, shape_);
  const auto size = static_cast<std::ptrdiff_t>(bytes_of(type.type));
  for (std::int64_t i = 0; i < count; ++i, place += size) {
    if (end - at < 4) refuse_value(column, damaged_array);
    const auto length = big_endian<std::int32_t>(at);
    at += 4;
    if (length == -1) {
      writer_.put_missing_in_array(column, i);
      continue;
    }
    if (length < 0 || length > end - at) refuse_value(column, damaged_array);
    if (const char* problem = type.decode({at, static_cast<std::size_t>(length)}, place))
      refuse_value(column, problem);
    at += length;
  }
}

}  // namespace stoker::database
