#include "data/npz.h"

#include <fstream>

#include "base/file.h"
#include "support.h"

namespace narrow {
namespace {

// numpy.savez_compressed(x=arange(200, dtype=int32) % 3, y=float32([1.5, 2.5])).
constexpr std::string_view kCompressed =
    "504b03042d0000000800000021003b766647ffffffffffffffff05001400782e6e707901001000a00300000000000056000000000000009bec17ea1b10c9c850c650ad9e92"
    "5a9c5ca46ea5a06e9369a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a4606063a9a3a0ab50a64032e062060046226060818658fb247d9"
    "083600504b03042d00000008000000210054e4777dffffffffffffffff05001400792e6e70790100100088000000000000004c000000000000009bec17ea1b10c9c850c650"
    "ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a463a9a3a0ab50a14002e068603f60c0c0a0e00504b0102"
    "2d032d0000000800000021003b76664756000000a0030000050000000000000000000000800100000000782e6e7079504b01022d032d00000008000000210054e4777d4c00"
    "00008800000005000000000000000000000080018d000000792e6e7079504b0506000000000200020066000000100100000000";

std::string from_hex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

// Without the safety (and the cost) of write_file: thousands of throw-away files.
void put(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string message(const std::string& path) {
  const auto tensors = read_npz(path);
  return tensors ? "no error" : tensors.error().message;
}

TEST(Npz, ReadsWhatNumpyCompressed) {
  const std::string path = test::temporary_folder() + "/a.npz";
  test::must(write_file(path, from_hex(kCompressed)));
  const NamedTensors tensors = test::must(read_npz(path));
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0].first, "x");
  EXPECT_EQ(tensors[0].second.shape(), (Shape{200}));
  const std::vector<std::int64_t> x = tensors[0].second.to_ints();
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i], static_cast<std::int64_t>(i % 3));
  EXPECT_EQ(tensors[1].first, "y");
  EXPECT_TRUE(tensors[1].second.same_bytes(Tensor::of<float>({2}, {1.5F, 2.5F})));
}

TEST(Npz, RoundTrips) {
  const std::string path = test::temporary_folder() + "/a.npz";
  NARROW_SEEDED(rng);
  const NamedTensors written = {{"images", test::random_tensor({2, 3, 4}, rng)}, {"serving_default:0", Tensor::of<std::int64_t>({1}, {-7})}, {"none", Tensor::zeros(DType::kF32, {0})}};
  test::must(write_npz(path, written));
  const NamedTensors read = test::must(read_npz(path));
  ASSERT_EQ(read.size(), 3U);
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].first, written[i].first);
    EXPECT_TRUE(read[i].second.same_bytes(written[i].second));
  }
}

TEST(Npz, SaysThatNamesAreUtf8) {
  const std::string path = test::temporary_folder() + "/a.npz";
  test::must(write_npz(path, {{"größe", Tensor::scalar(1.0F)}}));
  const std::string bytes = test::must(read_file(path));
  EXPECT_EQ(bytes.substr(6, 2), std::string("\x00\x08", 2)) << "bit 11 of the flags; without it numpy reads code page 437";
  EXPECT_EQ(test::must(read_npz(path))[0].first, "größe");
  test::must(write_npz(path, {{"gr\xf6\xdf", Tensor::scalar(1.0F)}}));
  EXPECT_EQ(test::must(read_file(path)).substr(6, 2), std::string("\x00\x00", 2)) << "these bytes are not UTF-8, and readers would fail";
  EXPECT_EQ(test::must(read_npz(path))[0].first, "gr\xf6\xdf");
}

TEST(Npz, MembersDoNotShareBytes) {
  // The second entry of the directory claims the bytes of the first: a file of such entries would unpack to any amount.
  const std::string path = test::temporary_folder() + "/a.npz";
  test::must(write_npz(path, {{"a", Tensor::zeros(DType::kF32, {1000})}, {"b", Tensor::scalar(1.0F)}}));
  std::string bytes = test::must(read_file(path));
  const std::size_t first = bytes.find("PK\x01\x02"), second = bytes.find("PK\x01\x02", first + 1);
  bytes.replace(second + 16, 12, bytes.substr(first + 16, 12));  // checksum and sizes
  bytes.replace(second + 42, 4, bytes.substr(first + 42, 4));    // offset
  test::must(write_file(path, bytes));
  EXPECT_EQ(message(path), "'" + path + "' is not a .npz file: it has no readable zip directory");
}

TEST(Npz, DamageIsAnErrorNeverACrash) {
  const std::string path = test::temporary_folder() + "/a.npz";
  const std::string whole = from_hex(kCompressed);
  for (std::size_t length = 0; length < whole.size(); length += 5) {
    put(path, whole.substr(0, length));
    EXPECT_FALSE(read_npz(path).has_value()) << length;
  }
  for (std::size_t i = 0; i < whole.size(); i += 3) {  // flips in fields that nobody reads may pass; nothing may crash
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    put(path, flipped);
    (void)read_npz(path);
  }
  std::string flipped = whole;
  flipped[100] = static_cast<char>(flipped[100] ^ 1);
  put(path, flipped);
  EXPECT_NE(message(path).find("'x.npy' in '" + path + "' is damaged"), std::string::npos) << message(path);
  test::must(write_file(path, "not a zip archive, but long enough to be one"));
  EXPECT_EQ(message(path), "'" + path + "' is not a .npz file: it has no readable zip directory");
}

}  // namespace
}  // namespace narrow
