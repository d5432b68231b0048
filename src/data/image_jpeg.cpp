#include <turbojpeg.h>

#include <memory>

#include "base/text.h"
#include "data/image.h"

namespace narrow {
namespace {

// x * y / 255, rounded, in 8-bit arithmetic.
std::uint32_t mul_div_255(std::uint32_t x, std::uint32_t y) {
  const std::uint32_t t = x * y + 128;
  return ((t >> 8) + t) >> 8;
}

}  // namespace

Result<Image> decode_jpeg(std::span<const std::byte> bytes) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  if (decoder == nullptr) return error("the JPEG decoder cannot start");
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, subsampling = 0, colorspace = 0;
  if (tjDecompressHeader3(decoder.get(), data, bytes.size(), &width, &height, &subsampling, &colorspace) != 0) {
    return error("{}", tjGetErrorStr2(decoder.get()));
  }
  if (width < 1 || height < 1 || std::int64_t{width} * height > kMostPixels) return error("{} x {} pixels", width, height);
  // Print colours come inverted, as the files in the wild have them (Adobe's convention).
  const bool cmyk = colorspace == TJCS_CMYK || colorspace == TJCS_YCCK;
  Image image(width, height, cmyk ? 4 : 3);
  // The accurate transform and smooth chroma upsampling: what other decoders do by default.
  const int code = tjDecompress2(decoder.get(), data, bytes.size(), image.pixels.data(), width, 0, height, cmyk ? TJPF_CMYK : TJPF_RGB,
                                 TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS);
  if (code != 0) {
    // Stray bytes between markers are only a warning; missing data would be a picture that is grey from some row on.
    const std::string reason = tjGetErrorStr2(decoder.get());
    const bool incomplete = lower_case(reason).find("premature end") != std::string::npos;
    if (tjGetErrorCode(decoder.get()) != TJERR_WARNING || incomplete) return error("{}", reason);
  }
  if (!cmyk) return image;
  Image rgb(width, height, 3);
  for (std::size_t i = 0; i < static_cast<std::size_t>(width) * static_cast<std::size_t>(height); ++i) {
    const std::uint8_t* p = image.pixels.data() + 4 * i;
    const std::uint32_t white = p[3];
    for (std::size_t c = 0; c < 3; ++c) rgb.pixels[3 * i + c] = static_cast<std::uint8_t>(white - mul_div_255(255U - p[c], white));
  }
  return rgb;
}

}  // namespace narrow
