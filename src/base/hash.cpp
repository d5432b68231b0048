#include "base/hash.h"

#define XXH_INLINE_ALL
#include <fmt/core.h>
#include <xxhash.h>

#include <charconv>

namespace narrow {

std::uint64_t hash_bytes(const void* data, std::size_t size, std::uint64_t seed) {
  return XXH3_64bits_withSeed(data, size, seed);
}

std::string hash_to_string(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

bool hash_from_string(std::string_view text, std::uint64_t* hash) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *hash, 16);
  return code == std::errc() && end == text.data() + text.size() && text.size() == 16;
}

}  // namespace narrow
