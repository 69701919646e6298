#include "database/postgres/postgres_types.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "database/postgres/big_endian.h"
#include "database/postgres/postgres_numeric.h"

namespace stoker::database {
namespace {

constexpr const char* wrong_size = "holds a value of another size than its type has";
constexpr std::int64_t days_to_2000 = 10'957;  // since 1970
constexpr std::int64_t microseconds_to_2000 = days_to_2000 * 86'400'000'000;

template <class T>
const char* decode_number(std::string_view bytes, std::byte* place) {
  if (bytes.size() != sizeof(T)) return wrong_size;
  using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  const Bits bits = big_endian<Bits>(bytes.data());
  std::memcpy(place, &bits, sizeof(bits));
  return nullptr;
}

const char* decode_boolean(std::string_view bytes, std::byte* place) {
  if (bytes.size() != 1) return wrong_size;
  *place = bytes[0] == 0 ? std::byte{0} : std::byte{1};
  return nullptr;
}

const char* decode_oid(std::string_view bytes, std::byte* place) {
  if (bytes.size() != 4) return wrong_size;
  const std::int64_t number = big_endian<std::uint32_t>(bytes.data());
  std::memcpy(place, &number, sizeof(number));
  return nullptr;
}

const char* decode_date(std::string_view bytes, std::byte* place) {
  if (bytes.size() != 4) return wrong_size;
  const auto days = big_endian<std::int32_t>(bytes.data());
  if (days == std::numeric_limits<std::int32_t>::max() || days == std::numeric_limits<std::int32_t>::min())
    return "holds the date infinity, which is no day";
  const auto since_1970 = static_cast<std::int32_t>(days + days_to_2000);
  std::memcpy(place, &since_1970, sizeof(since_1970));
  return nullptr;
}

const char* decode_moment(std::string_view bytes, std::byte* place) {
  if (bytes.size() != 8) return wrong_size;
  const auto moment = big_endian<std::int64_t>(bytes.data());
  if (moment == std::numeric_limits<std::int64_t>::max() ||
      moment == std::numeric_limits<std::int64_t>::min())
    return "holds the time infinity, which is no moment";
  std::int64_t since_1970 = 0;
  if (__builtin_add_overflow(moment, microseconds_to_2000, &since_1970))
    return "holds a moment too far in the future";
  std::memcpy(place, &since_1970, sizeof(since_1970));
  return nullptr;
}

std::string uuid_text(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text += {digits[byte >> 4U], digits[byte & 15U]};
  }
  return text;
}

// A version stands before the text.
std::string jsonb_text(std::string_view bytes) {
  return std::string(bytes.substr(std::min<std::size_t>(1, bytes.size())));
}

struct KnownType {
  unsigned oid;
  unsigned array;  // that of arrays of it; 0: they are not read
  PostgresType type;
};

constexpr std::array<KnownType, 22> known_types{{
    {16, 1000, {ValueType::boolean, decode_boolean}},
    {21, 1005, {ValueType::int16, decode_number<std::int16_t>}},
    {23, 1007, {ValueType::int32, decode_number<std::int32_t>}},
    {20, 1016, {ValueType::int64, decode_number<std::int64_t>}},
    {26, 0, {ValueType::int64, decode_oid}},
    {700, 1021, {ValueType::float32, decode_number<float>}},
    {701, 1022, {ValueType::float64, decode_number<double>}},
    {1700, 1231, {ValueType::float64, decode_numeric}},
    {1082, 0, {ValueType::date, decode_date}},
    {1083, 0, {ValueType::time, decode_number<std::int64_t>}},
    {1114, 0, {ValueType::moment, decode_moment}},
    {1184, 0, {ValueType::utc_moment, decode_moment}},
    {25, 0, {}},                         // text
    {1043, 0, {}},                       // varchar
    {1042, 0, {}},                       // char(n)
    {19, 0, {}},                         // name
    {18, 0, {}},                         // "char"
    {705, 0, {}},                        // unknown: a literal
    {114, 0, {}},                        // json
    {142, 0, {}},                        // xml
    {3802, 0, {.to_text = jsonb_text}},  // jsonb
    {2950, 0, {.to_text = uuid_text}},   // uuid
}};

}  // namespace

std::optional<PostgresType> postgres_type(unsigned oid) {
  for (const KnownType& known : known_types) {
    if (known.oid == oid) return known.type;
    if (known.array != oid || oid == 0) continue;
    PostgresType array = known.type;
    array.is_array = true;
    array.element = known.oid;
    return array;
  }
  return std::nullopt;
}

}  // namespace stoker::database
