#include "data/image.h"

#include <fstream>
#include <numeric>
#include <span>

#include "base/file.h"
#include "support.h"

namespace narrow {
namespace {

using Filter = InputRecipe::Filter;

std::string from_hex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

// Written by Pillow. The colour pictures are red = 25 x, green = 28 y, blue = 13 (x + y).
constexpr std::string_view kJpeg10x9 =
    "ffd8ffe000104a46494600010100000100010000ffdb0043000503040404030504040405050506070c08070707070f0b0b090c110f1212110f111113161c1713141a151111"
    "1821181a1d1d1f1f1f13172224221e241c1e1f1effdb0043010505050706070e08080e1e1411141e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e"
    "1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1effc00011080009000a03012200021101031101ffc4001500010100000000000000000000000000000607ffc40021100001"
    "010705000000000000000000000000010203060723244232334171a1ffc4001501010100000000000000000000000000000203ffc4001c1100010305000000000000000000"
    "000000000304060512143151ffda000c03010002110311003f001304caed16de14d772ba9b36fc26233823029cef6d9e900d1da961384ccea185be1fffd9";
constexpr std::string_view kPng4x3 =
    "89504e470d0a1a0a0000000d49484452000000040000000308020000003b9639910000001a49444154789c636460609064e085201606195e06062842e100001790011cb2f675"
    "fd0000000049454e44ae426082";
constexpr std::string_view kTransparentPng2x2 =
    "89504e470d0a1a0a0000000d494844520000000200000002080600000072b60d240000001a49444154789c63606060609064e06d606190e1fdcfc0c0cb01000d3901e8b95571"
    "f40000000049454e44ae426082";
constexpr std::string_view kGrayPng3x2 =
    "89504e470d0a1a0a0000000d4948445200000003000000020800000000b81f39c60000001049444154789c63649094646260600000012b00366069605f0000000049454e44ae"
    "426082";
constexpr std::string_view kBmp3x2 =
    "424d4e0000000000000036000000280000000300000002000000010018000000000018000000c40e0000c40e000000000000000000000d1c001a1c19271c320000000000000d"
    "00191a0032000000";
constexpr std::string_view kPrintJpeg8x8 =
    "ffd8ffee000e41646f626500640000000000ffdb0043000201010101010201010102020202020403020202020504040304060506060605060606070908060709070606080b"
    "08090a0a0a0a0a06080b0c0b0a0c090a0a0affc000140800080008044311004d11005911004b1100ffc400160001010100000000000000000000000000080709ffc4002110"
    "000101070500000000000000000000000008091925344345526683a4c1e1ffda000e0443004d0059004b00003f004f3722f1b9d9747ff6b5e47a24176aed9c8ce550d5c3ff"
    "d9";

Image decoded(std::string_view hex, const std::string& name) {
  const std::string path = test::temporary_folder() + "/" + name;
  test::must(write_file(path, from_hex(hex)));
  return test::must(decode_image(path));
}

std::vector<int> codes(const Image& image) { return {image.pixels.begin(), image.pixels.end()}; }
std::vector<int> first_row(const Image& image) { return {image.row(0), image.row(0) + image.width * image.channels}; }
int sum(const Image& image) { return std::accumulate(image.pixels.begin(), image.pixels.end(), 0); }

// (37 x + 59 y + 101 c + 13 x y) mod 256.
Image synthetic(int width, int height) {
  Image image(width, height, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) image.row(y)[x * 3 + c] = static_cast<std::uint8_t>((x * 37 + y * 59 + c * 101 + x * y * 13) & 255);
    }
  }
  return image;
}

TEST(Image, JpegHasThePixelsThatPillowSees) {
  const Image image = decoded(kJpeg10x9, "a.jpg");
  EXPECT_EQ(image.width, 10);
  EXPECT_EQ(image.height, 9);
  EXPECT_EQ(first_row(image), (std::vector<int>{0, 4, 0, 13, 7, 9, 40, 8, 23, 64, 8, 35, 86, 8, 48, 109, 9, 61, 136, 9, 78, 160, 7, 89, 191, 7, 103, 209, 10, 113}));
  EXPECT_EQ(sum(image), 30166);
}

TEST(Image, PrintColoursBecomeRgb) {
  const Image image = decoded(kPrintJpeg8x8, "a.jpg");
  EXPECT_EQ(first_row(image), (std::vector<int>{215, 215, 215, 194, 215, 204, 173, 215, 193, 152, 215, 183, 131, 215, 171, 110, 215, 160, 89, 215, 149, 67, 215, 138}));
  EXPECT_EQ(sum(image), 26366);
}

TEST(Image, PngAndBmpOfEveryKindBecomeRgb) {
  const std::vector<int> colours = {0,  0,  0,  25, 0,  13, 50, 0,  26, 75, 0,  39, 0,  28, 13, 25, 28, 26,
                                    50, 28, 39, 75, 28, 52, 0,  56, 26, 25, 56, 39, 50, 56, 52, 75, 56, 65};
  EXPECT_EQ(codes(decoded(kPng4x3, "a.png")), colours);
  EXPECT_EQ(codes(decoded(kTransparentPng2x2, "a.png")), (std::vector<int>{0, 0, 0, 25, 0, 13, 0, 28, 13, 25, 28, 26}));
  EXPECT_EQ(codes(decoded(kGrayPng3x2, "a.png")), (std::vector<int>{0, 0, 0, 25, 25, 25, 50, 50, 50, 0, 0, 0, 25, 25, 25, 50, 50, 50}));
  EXPECT_EQ(codes(decoded(kBmp3x2, "a.bmp")), (std::vector<int>{0, 0, 0, 25, 0, 13, 50, 0, 26, 0, 28, 13, 25, 28, 26, 50, 28, 39}));
  EXPECT_EQ(codes(decoded(kPng4x3, "png_in_disguise.jpg")), colours);
}

TEST(Image, DamagedFilesAreNamed) {
  const std::string path = test::temporary_folder() + "/broken.jpg";
  const auto message = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    const auto image = decode_image(path);
    return image ? "no error" : image.error().message;
  };
  const std::string jpeg = from_hex(kJpeg10x9);
  EXPECT_EQ(message(jpeg.substr(0, jpeg.size() - 20)), "cannot decode '" + path + "': Premature end of JPEG file");
  EXPECT_EQ(message("no picture at all"), "cannot decode '" + path + "': unknown image type");
  EXPECT_EQ(message(""), "cannot decode '" + path + "': the file is empty");
  const std::string png = from_hex(kPng4x3);
  for (std::size_t length = 0; length + 20 < png.size(); ++length) EXPECT_NE(message(png.substr(0, length)), "no error") << length;
  std::string claims = png;  // a second chunk that claims more than the file holds
  claims[33] = '\x40';
  EXPECT_EQ(message(claims), "cannot decode '" + path + "': the file is truncated");
  const std::string bmp = from_hex(kBmp3x2);
  EXPECT_EQ(message(bmp), "no error");
  EXPECT_EQ(message(bmp.substr(0, bmp.size() - 3)), "no error") << "the padding of the last row";
  for (std::size_t length = 0; length + 3 < bmp.size(); ++length) EXPECT_NE(message(bmp.substr(0, length)), "no error") << length;
}

TEST(Image, OneFlippedBitInAPngIsNoticed) {
  for (const std::string_view hex : {kPng4x3, kTransparentPng2x2, kGrayPng3x2}) {
    const std::string png = from_hex(hex);
    for (std::size_t at = 0; at < png.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = png;
        damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
        EXPECT_FALSE(decode_png_or_bmp(std::as_bytes(std::span(damaged))).has_value()) << "byte " << at << ", bit " << bit;
      }
    }
  }
  std::string damaged = from_hex(kPng4x3);
  damaged[50] = static_cast<char>(damaged[50] ^ 1);
  EXPECT_EQ(decode_png_or_bmp(std::as_bytes(std::span(damaged))).error().message, "the file is damaged: the checksum of its part 'IDAT' differs");
}

TEST(Image, DamagedRemarksOfAPngDoNotMatter) {
  std::string png = from_hex(kPng4x3);
  png.insert(33, std::string("\0\0\0\x03tEXtk\0v\0\0\0\0", 15));  // behind the header; the checksum is wrong
  EXPECT_EQ(decode_png_or_bmp(std::as_bytes(std::span(png)))->pixels, decoded(kPng4x3, "a.png").pixels);
}

TEST(Image, UnreasonablyLargeOnesAreNotDecoded) {
  const std::string odd = test::temporary_folder() + "/odd.bmp";
  std::ofstream(odd, std::ios::binary) << from_hex("424d2a040100000008050e01000038000000010ab76181d100800100092200b4b4b4");
  EXPECT_FALSE(decode_image(odd).has_value()) << "negative extents";
  std::ofstream(odd, std::ios::binary) << from_hex("424d5697000000000000d10000000c000000000e00500100010018");
  EXPECT_FALSE(decode_image(odd).has_value()) << "an old header without a single pixel";
  std::string jpeg = from_hex(kJpeg10x9), png = from_hex(kPng4x3), bmp = from_hex(kBmp3x2);
  jpeg.replace(jpeg.find("\xff\xc0") + 5, 4, "\x7f\xff\x7f\xff");
  png.replace(16, 8, std::string("\0\0\x46\x50\0\0\x46\x50", 8));
  bmp.replace(18, 8, std::string("\xff\x7f\0\0\xff\x7f\0\0", 8));
  const auto bytes = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  EXPECT_EQ(decode_jpeg(bytes(jpeg)).error().message, "32767 x 32767 pixels");
  EXPECT_EQ(decode_png_or_bmp(bytes(png)).error().message, "18000 x 18000 pixels");
  EXPECT_EQ(decode_png_or_bmp(bytes(bmp)).error().message, "32767 x 32767 pixels");
}

TEST(Image, GrayIsLuma) {
  EXPECT_EQ(first_row(to_gray(synthetic(11, 7))), (std::vector<int>{82, 119, 127, 164, 201, 88, 125, 85, 122, 130, 167}));
}

TEST(Image, ResizeHasThePixelsOfPillow) {
  const Image image = synthetic(11, 7);
  const Image down = resize(image, 4, 3, Filter::kBilinear, true);
  EXPECT_EQ(codes(down), (std::vector<int>{100, 130, 112, 120, 130, 138, 126, 135, 153, 135, 131, 148, 164, 111, 119, 140, 131, 136,
                                           120, 126, 144, 119, 110, 128, 141, 138, 118, 131, 104, 134, 123, 136, 141, 135, 124, 134}));
  const Image up = resize(image, 13, 9, Filter::kBilinear, true);
  EXPECT_EQ(first_row(up), (std::vector<int>{0,  101, 202, 28, 129, 230, 60, 161, 104, 91,  192, 37, 122, 223, 68,  154, 215, 100, 185, 30,
                                             131, 216, 61,  162, 70, 93,  194, 23,  124, 225, 54, 155, 158, 86,  187, 32,  114, 215, 60}));
  EXPECT_EQ(sum(up), 45353);
  EXPECT_EQ(codes(resize(image, 4, 3, Filter::kBicubic, true)),
            (std::vector<int>{96,  132, 110, 121, 131, 139, 126, 135, 156, 135, 133, 148, 171, 106, 117, 142, 132, 137,
                              117, 125, 145, 120, 106, 127, 141, 142, 117, 132, 98,  134, 121, 139, 140, 137, 124, 133}));
  EXPECT_EQ(codes(resize(image, 4, 3, Filter::kNearest, true)),
            (std::vector<int>{109, 210, 55, 3,   104, 205, 103, 204, 49, 253, 98, 199, 253, 98, 199, 225, 70, 171,
                              121, 222, 67, 93, 194, 39,  141, 242, 87, 191, 36, 137, 139, 240, 85, 189, 34, 135}));
}

TEST(Image, WithoutAntialiasingBilinearReadsTwoPixelsEachWay) {
  Image image(8, 1, 1);
  for (int x = 0; x < 8; ++x) image.pixels[static_cast<std::size_t>(x)] = static_cast<std::uint8_t>(x * x);
  // Centres of the two outputs lie at 1.5 and 5.5: halfway between codes 1 and 4, 25 and 36.
  EXPECT_EQ(codes(resize(image, 2, 1, Filter::kBilinear, false)), (std::vector<int>{3, 31}));
  // Antialiased, the triangle spans eight pixels: (1*0 + 3*1 + 5*4 + 7*9 + 7*16 + 5*25 ...) over what lies inside.
  const double left = (5 * 0 + 7 * 1 + 7 * 4 + 5 * 9 + 3 * 16 + 1 * 25) / 28.0;
  EXPECT_EQ(codes(resize(image, 2, 1, Filter::kBilinear, true))[0], static_cast<int>(left + 0.5));
}

TEST(Image, SharedPhotographHasThePixelsOfPillow) {
  NARROW_NEEDS_SHARED(shared);
  const Image image = test::must(decode_image(shared + "/data/imagenet_sample/n01440764_tench.JPEG"));
  EXPECT_EQ(image.width, 500);
  EXPECT_EQ(image.height, 375);
  EXPECT_EQ(sum(image), 58590576);
  EXPECT_EQ((std::vector<int>{image.row(100)[600], image.row(100)[601], image.row(100)[602]}), (std::vector<int>{95, 108, 99}));
  const Image small = resize(image, 224, 224, Filter::kBilinear, true);
  EXPECT_EQ(sum(small), 15679442);
  EXPECT_EQ((std::vector<int>{small.row(111)[171], small.row(111)[172], small.row(111)[173]}), (std::vector<int>{116, 124, 116}));
}

}  // namespace
}  // namespace narrow
