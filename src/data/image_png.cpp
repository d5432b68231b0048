#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_NO_STDIO
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_MAX_DIMENSIONS 32768
#include <stb/stb_image.h>

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

// stb reserves what a chunk claims to hold before it reads it.
bool is_truncated_png(std::span<const std::byte> bytes) {
  constexpr std::size_t kSignature = 8, kFrame = 12;  // length, type and checksum of a chunk
  if (bytes.size() < kSignature || bytes[0] != std::byte{0x89} || bytes[1] != std::byte{'P'}) return false;
  for (std::size_t at = kSignature; at + kFrame <= bytes.size();) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length * 256 + std::to_integer<std::size_t>(bytes[at + i]);
    if (length > bytes.size() - at - kFrame) return true;
    if (bytes[at + 4] == std::byte{'I'} && bytes[at + 5] == std::byte{'E'}) return false;  // the end
    at += kFrame + length;
  }
  return true;
}

}  // namespace

Result<Image> decode_png_or_bmp(std::span<const std::byte> bytes) {
  if (bytes.empty()) return error("the file is empty");
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return error("the file is larger than 2 GB");
  int width = 0, height = 0, channels = 0;
  const auto* data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const int size = static_cast<int>(bytes.size());
  if (stbi_info_from_memory(data, size, &width, &height, &channels) != 0) {
    if (width < 1 || height < 1 || std::int64_t{width} * height > kMostPixels) return error("{} x {} pixels", width, height);
    if (is_truncated_bmp(bytes, width, height) || is_truncated_png(bytes)) return error("the file is truncated");
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
