#include "tensor/npy.h"

#include <algorithm>
#include <cmath>

#include "array_files.h"
#include "base/file.h"
#include "support.h"

namespace narrow {
namespace {

// A .npy file made by hand: version, header text as numpy writes it, data.
std::string file_of(const std::string& dict, const std::string& data, int version = 1) {
  std::string text = dict + "\n";
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  if (version > 1) out += std::string(2, '\0');
  return out + text + data;
}

Result<Tensor> parse(const std::string& bytes) {
  // A copy at an odd address, so that the reader cannot rely on alignment.
  auto buffer = std::make_shared<std::string>("x" + bytes);
  return parse_npy(std::as_bytes(std::span(*buffer)).subspan(1), "a.npy", buffer);
}

std::string message(const std::string& bytes) {
  const auto tensor = parse(bytes);
  return tensor ? "no error" : tensor.error().message;
}

TEST(Npy, EveryDTypeRoundTrips) {
  const std::string folder = test::temporary_folder();
  NARROW_SEEDED(rng);
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI64, DType::kI32, DType::kI16, DType::kU16, DType::kI8, DType::kU8, DType::kBool}) {
    const Tensor tensor = test::random_ints<std::int64_t>({3, 5, 2}, rng, 0, 100).cast(dtype);
    test::must(write_npy(folder + "/a.npy", tensor));
    EXPECT_TRUE(test::must(read_npy(folder + "/a.npy")).same_bytes(tensor)) << name_of(dtype);
  }
}

TEST(Npy, ShapesOfEveryRankRoundTrip) {
  const std::string folder = test::temporary_folder();
  for (const Shape& shape : {Shape{}, Shape{4}, Shape{0}, Shape{2, 0, 3}, Shape{1, 2, 3, 4, 5}}) {
    const Tensor tensor = Tensor::zeros(DType::kF32, shape);
    test::must(write_npy(folder + "/a.npy", tensor));
    EXPECT_EQ(test::must(read_npy(folder + "/a.npy")).shape(), shape);
  }
}

TEST(Npy, HeaderIsNumpysOwn) {
  const std::string header = npy_header({DType::kF32, {4}});
  EXPECT_EQ(header.size(), 128U);
  EXPECT_EQ(header.substr(10, 58), "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), } ");
  EXPECT_EQ(header.back(), '\n');
  EXPECT_EQ(npy_header({DType::kU8, {}}).substr(10, 54), "{'descr': '|u1', 'fortran_order': False, 'shape': (), ");
}

TEST(Npy, HalvesBecomeSingles) {
  const Tensor tensor = test::must(parse(file_of("{'descr': '<f2', 'fortran_order': False, 'shape': (6,), }", std::string("\x00\x3e\x00\xc0\x01\x00\x00\x7c\x00\x80\x01\x7e", 12))));
  EXPECT_EQ(tensor.dtype(), DType::kF32);
  const float* x = tensor.data<float>();
  EXPECT_EQ(x[0], 1.5F);
  EXPECT_EQ(x[1], -2.0F);
  EXPECT_EQ(x[2], 0x1p-24F);
  EXPECT_TRUE(std::isinf(x[3]));
  EXPECT_TRUE(x[4] == 0 && std::signbit(x[4]));
  EXPECT_TRUE(std::isnan(x[5]));
}

TEST(Npy, OtherByteOrderAndVersions) {
  for (const int version : {1, 2, 3}) {
    const Tensor tensor = test::must(parse(file_of("{'descr': '>i2', 'fortran_order': False, 'shape': (2, 2), }", std::string("\x00\x01\x00\x02\x00\x03\xff\xfc", 8), version)));
    EXPECT_TRUE(tensor.same_bytes(Tensor::of<std::int16_t>({2, 2}, {1, 2, 3, -4})));
  }
  EXPECT_EQ(message(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "1234", 4)), "'a.npy' has .npy format version 4, wanted 1, 2 or 3");
}

TEST(Npy, ColumnMajorIsTransposed) {
  const float stored[] = {0, 3, 1, 4, 2, 5};  // numpy.asfortranarray(arange(6).reshape(2, 3))
  const Tensor tensor = test::must(parse(file_of("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", {reinterpret_cast<const char*>(stored), sizeof stored})));
  EXPECT_TRUE(tensor.same_bytes(Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5})));
}

TEST(Npy, BooleansAreNormalised) {
  const Tensor tensor = test::must(parse(file_of("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", std::string("\x00\x01\xff", 3))));
  EXPECT_EQ(tensor.to_ints(), (std::vector<std::int64_t>{0, 1, 1}));
}

TEST(Npy, EveryFormReadsWholeAndInParts) {
  const std::string path = test::temporary_folder() + "/a.npy";
  NARROW_SEEDED(rng);
  for (const Shape& shape : {Shape{7, 3, 5, 2}, Shape{1, 6, 1, 4}, Shape{13}, Shape{5, 1}, Shape{0, 3}, Shape{}}) {
    const std::vector<std::int64_t> values = test::random_ints<std::int64_t>(shape, rng, 0, 100).to_ints();
    for (const test::NpyForm& form : test::npy_forms()) {
      SCOPED_TRACE(form.name() + " " + to_string(shape));
      test::must(write_file(path, test::npy_bytes(form, shape, values)));
      const Tensor wanted = test::npy_values(form, shape, values);
      EXPECT_TRUE(test::must(read_npy(path)).same_bytes(wanted));
      const NpyArray array = test::must(test::must(NpyArray::open(path)).row_major());
      EXPECT_EQ(array.type(), wanted.type());
      const std::vector<std::int64_t> flat = wanted.to_ints();
      for (std::int64_t first = 0; first < wanted.elements(); first += 3) {
        const std::int64_t count = std::min<std::int64_t>(wanted.elements() - first, 4);
        const Tensor part = array.part(first, count);
        array.release(first, count);
        EXPECT_EQ(part.shape(), (Shape{count}));
        EXPECT_EQ(part.dtype(), wanted.dtype());
        EXPECT_EQ(part.to_ints(), (std::vector<std::int64_t>(flat.begin() + first, flat.begin() + first + count)));
      }
    }
  }
}

TEST(Npy, ColumnMajorFilesLargerThanTheBlockThatTransposesThem) {
  const std::string path = test::temporary_folder() + "/a.npy";
  const Shape shape{700, 3, 64, 32};  // 17 MB of i4
  std::vector<std::int64_t> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * i % 101);
  test::must(write_file(path, test::npy_bytes({"i4", DType::kI32, '<', true}, shape, values)));
  const NpyArray array = test::must(test::must(NpyArray::open(path)).row_major());
  const Tensor all = array.part(0, element_count(shape));
  EXPECT_TRUE(std::equal(values.begin(), values.end(), all.span<std::int32_t>().begin()));
}

TEST(Npy, TheHeaderIsEnoughForTheType) {
  const std::string whole = test::npy_bytes({"f4", DType::kF32}, {50, 50}, std::vector<std::int64_t>(2500));
  std::size_t seen = 0;
  while (npy_header_end(std::as_bytes(std::span(whole)).first(seen)) > seen) ++seen;
  EXPECT_EQ(seen, whole.size() - 10'000);
  const auto begin = std::as_bytes(std::span(whole)).first(seen);
  EXPECT_EQ(test::must(parse_npy_header(begin, whole.size(), "a.npy")).type, (TensorType{DType::kF32, {50, 50}}));
  EXPECT_EQ(parse_npy_header(begin, whole.size() - 1, "a.npy").error().message, "'a.npy' is truncated: shape [50,50] of <f4 needs more than the 9999 bytes of data that are there");
  EXPECT_EQ(parse_npy_header(begin, 100, "a.npy").error().message, "'a.npy' is truncated: its header ends at byte 128, the file at 100");
  std::string forged("\x93NUMPY\x02\0\xff\xff\xff\x7f", 12);
  EXPECT_EQ(npy_header_end(std::as_bytes(std::span(forged))), 12U + (1 << 20) + 1) << "no more than that is collected";
  EXPECT_EQ(message(forged), "'a.npy' has a .npy header of more than 1048576 bytes");
}

TEST(Npy, ErrorsSayFoundAndWanted) {
  EXPECT_EQ(message("PK\x03\x04 something else"), "'a.npy' is not a .npy file: it does not begin with \\x93NUMPY");
  EXPECT_EQ(message("\x93NUMPY"), "'a.npy' is truncated: 6 bytes, not even a header");
  EXPECT_EQ(message(file_of("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "12345678")),
            "'a.npy' holds elements of type '<c8', wanted f2, f4, f8, i1, i2, i4, i8, u1, u2 or b1");
  EXPECT_EQ(message(file_of("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234")), "'a.npy' holds records with fields, wanted plain numbers");
  EXPECT_EQ(message(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", "12345678")),
            "'a.npy' is truncated: shape [2,3] of <f4 needs more than the 8 bytes of data that are there");
  EXPECT_EQ(message(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807), }", "12345678")),
            "'a.npy' is truncated: shape [9223372036854775807,9223372036854775807] of <f4 needs more than the 8 bytes of data that are there");
  EXPECT_EQ(message(file_of("{'descr': '<f4', 'fortran_order': True, 'shape': (4294967296, 4294967296, 0), }", "")), "'a.npy' has the impossible shape [4294967296,4294967296,0]");
  for (const char* dict : {"", "{", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2), }", "{'descr': '', 'fortran_order': False, 'shape': (1,), }"}) {
    EXPECT_EQ(message(file_of(dict, "1234")), "'a.npy' has a malformed .npy header") << dict;
  }
}

TEST(Npy, AnyTruncationIsAnError) {
  const std::string whole = file_of("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }", std::string(16, '\1'));
  ASSERT_TRUE(parse(whole).has_value());
  for (std::size_t length = 0; length < whole.size(); ++length) EXPECT_FALSE(parse(whole.substr(0, length)).has_value()) << length;
}

TEST(Npy, ReadsTheSharedArrays) {
  NARROW_NEEDS_SHARED(shared);
  const Tensor images = test::must(read_npy(shared + "/data/cifar10/calib512_u8_nhwc.npy"));
  EXPECT_EQ(images.dtype(), DType::kU8);
  EXPECT_EQ(images.shape(), (Shape{512, 32, 32, 3}));
  EXPECT_EQ(test::must(read_npy(shared + "/data/cifar10/train_mean_f32_chw.npy")).shape(), (Shape{3, 32, 32}));
}

}  // namespace
}  // namespace narrow
