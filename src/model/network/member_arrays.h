#pragma once

#include <cstddef>
#include <vector>

#include "device/array.h"

// The arrays of an ensemble's members in one file, under the names that they have there: members.0.NAME.
namespace stoker {

NamedArrays join_members(const std::vector<NamedArrays>& members);
// And back. Refuses an array that belongs to none of so many members.
std::vector<NamedArrays> split_by_member(NamedArrays arrays, std::size_t members);

}  // namespace stoker
