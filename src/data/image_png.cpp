#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_NO_STDIO
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_MAX_DIMENSIONS 32768
#include <stb/stb_image.h>

#include <zlib.h>

#include <limits>
#include <memory>

#include "data/image.h"

namespace narrow {
namespace {

// The rows of a bmp stand in the file as they are (packed ones are not read); stb takes zeros for those that are missing.
bool is_truncated_bmp(std::span<const std::byte> bytes, std::int64_t width, std::int64_t height) {
  constexpr std::size_t kToHeaderSize = 18, kOldHeader = 26, kNewHeader = 30;  // bytes up to what is read here
  if (bytes.size() < kToHeaderSize || bytes[0] != std::byte{'B'} || bytes[1] != std::byte{'M'}) return false;
  const auto number = [&](std::size_t at, std::size_t size) {
    std::int64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value * 256 + std::to_integer<std::int64_t>(bytes[at + i]);
    return value;
  };
  const bool old = number(14, 4) == 12;
  if (bytes.size() < (old ? kOldHeader : kNewHeader)) return true;
  const std::int64_t first = number(10, 4), bits = width * number(old ? 24 : 28, 2);
  return first + (bits + 31) / 32 * 4 * (height - 1) + (bits + 7) / 8 > static_cast<std::int64_t>(bytes.size());
}

// What stb does not look at: it reserves what a chunk claims to hold before it reads it, and takes any data whose checksum differs.
Status check_png(std::span<const std::byte> bytes, Checksums checksums) {
  constexpr std::size_t kSignature = 8, kFrame = 12;  // length, type and checksum of a chunk
  if (bytes.size() < kSignature || bytes[0] != std::byte{0x89} || bytes[1] != std::byte{'P'}) return {};
  const auto number = [&](std::size_t at) {
    std::size_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value * 256 + std::to_integer<std::size_t>(bytes[at + i]);
    return value;
  };
  for (std::size_t at = kSignature; at + kFrame <= bytes.size();) {
    const std::size_t length = number(at);
    if (length > bytes.size() - at - kFrame) break;
    const auto* type = reinterpret_cast<const char*>(bytes.data() + at + 4);
    const bool needed = (type[0] & 0x20) == 0;  // the others (times, texts, colour profiles) do not reach the pixels
    if (needed && checksums == Checksums::kVerify && number(at + 8 + length) != ::crc32(0, reinterpret_cast<const Bytef*>(type), static_cast<uInt>(length + 4))) {
      return error("the file is damaged: the checksum of its part '{}' differs", std::string(type, 4));
    }
    if (std::string_view(type, 4) == "IEND") return {};
    at += kFrame + length;
  }
  return error("the file is truncated");
}

}  // namespace

Result<Image> decode_png_or_bmp(std::span<const std::byte> bytes, Checksums checksums) {
  if (bytes.empty()) return error("the file is empty");
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return error("the file is larger than 2 GB");
  int width = 0, height = 0, channels = 0;
  const auto* data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const int size = static_cast<int>(bytes.size());
  if (stbi_info_from_memory(data, size, &width, &height, &channels) != 0) {
    if (width < 1 || height < 1 || std::int64_t{width} * height > kMostPixels) return error("{} x {} pixels", width, height);
    if (is_truncated_bmp(bytes, width, height)) return error("the file is truncated");
    NARROW_TRY(check_png(bytes, checksums));
  }
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(data, size, &width, &height, &channels, 0), stbi_image_free);
  if (pixels == nullptr) return error("{}", stbi_failure_reason());
  Image image(width, height, 3);
  const bool gray = channels <= 2;
  for (std::size_t i = 0; i < static_cast<std::size_t>(width) * static_cast<std::size_t>(height); ++i) {
    const stbi_uc* p = pixels.get() + i * static_cast<std::size_t>(channels);
    for (std::size_t c = 0; c < 3; ++c) image.pixels[3 * i + c] = gray ? p[0] : p[c];
  }
  return image;
}

}  // namespace narrow
