// Artifacts: the bytes as they are, and once more with right checksums, so that what lies behind them is reached.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "artifact/artifact.h"
#include "artifact/layout.h"
#include "base/hash.h"
#include "tensor/tensor.h"

namespace {

using namespace narrow;

void parse(const std::string& bytes) {
  auto memory = std::make_shared<Tensor>(DType::kU8, Shape{static_cast<std::int64_t>(bytes.size())});
  std::copy(bytes.begin(), bytes.end(), static_cast<char*>(memory->raw()));
  const auto artifact = parse_artifact({static_cast<const std::byte*>(memory->raw()), bytes.size()}, "fuzz.narrow", memory);
  if (artifact) NARROW_CHECK(!artifact_bytes(artifact->contents).empty());
  else NARROW_CHECK(!artifact.error().to_string().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  parse(bytes);
  artifact::Header header;
  if (size < sizeof header) return 0;
  header.file_bytes = size;
  std::memcpy(&header.section_count, bytes.data() + offsetof(artifact::Header, section_count), sizeof header.section_count);
  header.section_count = std::min<std::uint32_t>(header.section_count, static_cast<std::uint32_t>((size - sizeof header) / sizeof(artifact::Entry)));
  for (std::uint32_t i = 0; i < header.section_count; ++i) {
    artifact::Entry e;
    char* at = bytes.data() + sizeof header + i * sizeof e;
    std::memcpy(&e, at, sizeof e);
    if (e.offset <= size && e.bytes <= size - e.offset) e.checksum = hash_bytes(bytes.data() + e.offset, e.bytes);
    std::memcpy(at, &e, sizeof e);
  }
  std::memcpy(bytes.data(), &header, sizeof header);
  header.checksum = hash_text(bytes.substr(0, artifact::kCheckedHeaderBytes) + bytes.substr(sizeof header, header.section_count * sizeof(artifact::Entry)));
  std::memcpy(bytes.data(), &header, sizeof header);
  parse(bytes);
  return 0;
}
