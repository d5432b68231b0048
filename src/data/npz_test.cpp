#include "data/npz.h"

#include <cstring>
#include <fstream>

#include "array_files.h"
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

// What the other ways to read a member give, which must be the same.
void expect_arrays(const NpzFile& file) {
  for (std::size_t i = 0; i < file.size(); ++i) {
    const auto whole = file.read(i);
    const auto array = file.array(i);
    ASSERT_EQ(whole.has_value(), array.has_value()) << file.key(i);
    if (!whole) {
      EXPECT_EQ(whole.error().message, array.error().message);
      continue;
    }
    EXPECT_EQ(array->type(), whole->type());
    EXPECT_EQ(test::must(file.type(i)), whole->type());
    const NpyArray rows = test::must(array->row_major());
    for (int pass = 0; pass < 2; ++pass) {
      EXPECT_TRUE(rows.part(0, whole->elements()).reshaped(whole->shape()).same_bytes(*whole));
      rows.release(0, whole->elements());
    }
  }
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

TEST(Npz, EveryFormReadsWholeAndInParts) {
  const std::string path = test::temporary_folder() + "/a.npz";
  NARROW_SEEDED(rng);
  for (const Shape& shape : {Shape{40, 30, 11}, Shape{3}, Shape{0, 2}, Shape{}}) {
    const std::vector<std::int64_t> values = test::random_ints<std::int64_t>(shape, rng, 0, 100).to_ints();
    std::vector<std::pair<std::string, std::string>> members;
    for (const test::NpyForm& form : test::npy_forms()) members.emplace_back(form.name() + ".npy", test::npy_bytes(form, shape, values));
    for (const bool deflated : {false, true}) {
      put(path, test::npz_bytes(members, deflated));
      const NpzFile file = test::must(NpzFile::open(path));
      ASSERT_EQ(file.size(), members.size());
      for (const test::NpyForm& form : test::npy_forms()) {
        SCOPED_TRACE(form.name());
        EXPECT_TRUE(test::must(file.read(*file.find(form.name()))).same_bytes(test::npy_values(form, shape, values)));
      }
      expect_arrays(file);
    }
  }
}

TEST(Npz, ClaimsThatDoNotHold) {
  const std::string path = test::temporary_folder() + "/a.npz";
  const std::string array = test::npy_bytes({"f4", DType::kF32}, {1000}, std::vector<std::int64_t>(1000));
  const std::string whole = test::npz_bytes({{"x.npy", array}}, true);
  const std::size_t central = whole.find("PK\x01\x02");
  const auto claim = [&](std::uint32_t size) {
    std::string forged = whole;
    std::memcpy(forged.data() + central + 24, &size, sizeof size);
    put(path, forged);
    return test::must(NpzFile::open(path));
  };
  const std::string place = "'x.npy' in '" + path + "' is damaged: ";
  for (const std::uint32_t size : {4127U, 4129U}) EXPECT_EQ(claim(size).array(0).error().message, place + "it does not unpack to " + std::to_string(size) + " bytes");
  const std::string impossible = place + std::to_string(whole.find("PK\x01\x02") - 35) + " bytes cannot unpack to 4000000000";
  EXPECT_EQ(claim(4'000'000'000U).array(0).error().message, impossible);
  EXPECT_EQ(claim(4'000'000'000U).read(0).error().message, impossible);
  EXPECT_EQ(claim(4'000'000'000U).type(0).error().message, impossible);
  EXPECT_EQ(claim(100).type(0).error().message, place + "it does not unpack to 100 bytes");
  EXPECT_EQ(claim(4128).size(), 1U);
  expect_arrays(claim(4128));
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
    if (const auto file = NpzFile::open(path)) {
      expect_arrays(*file);
      for (std::size_t k = 0; k < file->size(); ++k) (void)file->type(k);
    }
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
