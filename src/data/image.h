// 8-bit images: decoding jpg, png and bmp files, cutting, and resizing in Pillow's arithmetic, so that a network sees the
// pixels that it was trained and measured with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "recipe/recipe.h"

namespace narrow {

// Rows from top to bottom, channels interleaved (RGB or grey).
struct Image {
  int width = 0, height = 0, channels = 3;
  std::vector<std::uint8_t> pixels;  // height * width * channels
  Image() = default;
  Image(int w, int h, int c) : width(w), height(h), channels(c), pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h) * static_cast<std::size_t>(c)) {}
  std::uint8_t* row(int y) { return pixels.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width * channels); }
  const std::uint8_t* row(int y) const { return pixels.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width * channels); }
};

// Of a file: a forged header must not cost gigabytes.
inline constexpr std::int64_t kMostPixels = 200'000'000;

// By the extension: jpg, jpeg, png, bmp in any case.
bool is_image_name(std::string_view path);
// As RGB, whatever the file holds: grey is repeated, palettes are looked up, transparency is dropped. The format is told by
// the contents. Errors name the file: unreadable, not an image, damaged, unreasonably large.
Result<Image> decode_image(const std::string& path);
Result<Image> decode_jpeg(std::span<const std::byte> bytes);        // image_jpeg.cpp; messages without the file name
enum class Checksums { kVerify, kIgnore };                          // kIgnore: for fuzzers, which would hardly get past them
Result<Image> decode_png_or_bmp(std::span<const std::byte> bytes, Checksums checksums = Checksums::kVerify);  // image_png.cpp

// Luma of ITU-R 601 in 16-bit fixed point: (19595 R + 38470 G + 7471 B + 2^15) >> 16.
Image to_gray(const Image& rgb);
// The rectangle must lie inside.
Image crop(const Image& image, int left, int top, int width, int height);
// Two passes, first within rows, then across them, with 22-bit coefficients and 8 bits in between: the pixels of Pillow, bit for
// bit (newer versions sometimes take the passes in the other order: one code apart on some pixels). When shrinking, antialias stretches the
// filter over all source pixels; without it the filter keeps its own width. Nearest takes the pixel at the centre.
Image resize(const Image& image, int width, int height, InputRecipe::Filter filter, bool antialias);

}  // namespace narrow
