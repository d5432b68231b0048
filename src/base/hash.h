// Stable 64-bit content hashes (XXH3): the same bytes give the same hash on every machine and in every version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace narrow {

// Another seed gives another hash: to chain several pieces, the hash of one is the seed of the next.
std::uint64_t hash_bytes(const void* data, std::size_t size, std::uint64_t seed = 0);
inline std::uint64_t hash_text(std::string_view text, std::uint64_t seed = 0) { return hash_bytes(text.data(), text.size(), seed); }
std::string hash_to_string(std::uint64_t hash);  // 16 lower-case hex digits
bool hash_from_string(std::string_view text, std::uint64_t* hash);  // false for any other text

}  // namespace narrow
