#include "data/image.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace narrow {

bool is_image_name(std::string_view path) {
  const std::string extension = lower_case(std::filesystem::path(path).extension().string());
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png" || extension == ".bmp";
}

Result<Image> decode_image(const std::string& path) {
  const auto file = NARROW_TRY(MappedFile::open(path));
  const auto bytes = file->bytes();
  const bool jpeg = bytes.size() >= 2 && bytes[0] == std::byte{0xff} && bytes[1] == std::byte{0xd8};
  auto image = jpeg ? decode_jpeg(bytes) : decode_png_or_bmp(bytes);
  if (!image) return error("cannot decode '{}': {}", path, image.error().message).with_help("wanted a jpg, png or bmp image; replace or remove the file");
  return image;
}

Image to_gray(const Image& rgb) {
  Image gray(rgb.width, rgb.height, 1);
  for (std::size_t i = 0; i < gray.pixels.size(); ++i) {
    const std::uint8_t* p = rgb.pixels.data() + 3 * i;
    gray.pixels[i] = static_cast<std::uint8_t>((p[0] * 19595U + p[1] * 38470U + p[2] * 7471U + 0x8000U) >> 16);
  }
  return gray;
}

Image crop(const Image& image, int left, int top, int width, int height) {
  NARROW_CHECK(left >= 0 && top >= 0 && left + width <= image.width && top + height <= image.height);
  Image out(width, height, image.channels);
  for (int y = 0; y < height; ++y) {
    const std::uint8_t* from = image.row(top + y) + left * image.channels;
    std::copy(from, from + width * image.channels, out.row(y));
  }
  return out;
}

}  // namespace narrow
