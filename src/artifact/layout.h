// The fixed-size records of an artifact file (FORMAT.md). All integers are little-endian; structs have no holes.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

namespace narrow::artifact {

static_assert(std::endian::native == std::endian::little, "artifacts are mapped as they are");

// High bit, line ends and Ctrl-Z: damaged by every transfer that changes text.
constexpr std::array<char, 8> kMagic = {'\x89', 'N', 'R', 'W', '\r', '\n', '\x1a', '\n'};
constexpr std::uint16_t kFormatMajor = 1;
constexpr std::uint16_t kFormatMinor = 0;
constexpr std::uint64_t kKnownFeatures = 0;   // bits of Header::required_features that this reader understands
constexpr std::uint32_t kMaxSections = 64;

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint16_t header_bytes = 64;
  std::uint16_t format_major = kFormatMajor;
  std::uint16_t format_minor = kFormatMinor;
  std::uint16_t flags = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t table_offset = 64;
  std::uint32_t section_count = 0;
  std::uint32_t entry_bytes = 48;
  std::uint64_t required_features = 0;
  std::uint64_t optional_features = 0;
  std::uint64_t checksum = 0;                 // XXH3-64 of bytes [0, 56) and the section table
};
static_assert(sizeof(Header) == 64);
constexpr std::size_t kCheckedHeaderBytes = 56;

constexpr std::uint32_t kRequired = 1;        // a reader that does not know the section must refuse the file

struct Entry {
  std::array<char, 8> name = {};              // ASCII, padded with zeros
  std::uint32_t flags = 0;
  std::uint32_t alignment = 64;               // of the offset; a power of two
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;                 // XXH3-64 of the section's bytes
  std::uint64_t reserved = 0;
};
static_assert(sizeof(Entry) == 48);

constexpr std::string_view kMeta = "META";
constexpr std::string_view kGraph = "GRAPH";
constexpr std::string_view kPlan = "PLAN";
constexpr std::string_view kReport = "REPORT";
constexpr std::string_view kWeights = "WEIGHTS";

}  // namespace narrow::artifact
