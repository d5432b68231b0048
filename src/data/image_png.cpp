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

Result<Image> decode_png_or_bmp(std::span<const std::byte> bytes) {
  if (bytes.empty()) return error("the file is empty");
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return error("the file is larger than 2 GB");
  int width = 0, height = 0, channels = 0;
  const auto* data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const int size = static_cast<int>(bytes.size());
  if (stbi_info_from_memory(data, size, &width, &height, &channels) != 0 && std::int64_t{width} * height > kMostPixels) return error("{} x {} pixels", width, height);
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
