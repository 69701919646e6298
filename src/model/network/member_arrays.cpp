#include "model/network/member_arrays.h"

#include <charconv>
#include <string_view>

#include "base/error.h"

namespace stoker {
namespace {

constexpr std::string_view member_prefix = "members.";

// Cuts the member's number off the name.
std::size_t member_named_by(std::string& name, std::size_t members) {
  std::size_t number = 0;
  const char* const end = name.data() + name.size();
  if (name.starts_with(member_prefix)) {
    const auto [rest, error] = std::from_chars(name.data() + member_prefix.size(), end, number);
    if (error == std::errc() && rest != end && *rest == '.' && number < members) {
      name.erase(0, static_cast<std::size_t>(rest + 1 - name.data()));
      return number;
    }
  }
  refuse("'{}' belongs to none of {} members", name.substr(0, 100), members);
}

}  // namespace

NamedArrays join_members(const std::vector<NamedArrays>& members) {
  NamedArrays all;
  for (std::size_t i = 0; i < members.size(); ++i)
    for (const NamedArray& each : members[i])
      all.push_back({fmt::format("{}{}.{}", member_prefix, i, each.name), each.array});
  return all;
}

std::vector<NamedArrays> split_by_member(NamedArrays arrays, std::size_t members) {
  std::vector<NamedArrays> split(members);
  for (NamedArray& each : arrays) {
    const std::size_t member = member_named_by(each.name, members);
    split[member].push_back(std::move(each));
  }
  return split;
}

}  // namespace stoker
