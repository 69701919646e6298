#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stoker {

// XXH64 (Collet, https://xxhash.com): tells data apart at the speed of memory, where nobody makes two of the
// same hash on purpose. Where somebody might, see Sha256.
std::uint64_t quick_hash(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace stoker
