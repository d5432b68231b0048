#include "graph/value_scanner.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace narrow {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;   // of any tensor type
constexpr std::int64_t kMaxGenerated = std::int64_t{1} << 28;  // of rand() and fill(), which need memory the text does not have

}  // namespace

Result<TensorType> ValueScanner::type() {
  const std::string_view word = peek_word();
  const auto dtype = dtype_from_name(word);
  if (!dtype) return fail(at_, fmt::format("found {}, wanted an element type", found()), "the types are f32 f64 i64 i32 i16 u16 i8 u8 bool");
  at_ += word.size();
  TensorType out{*dtype, {}};
  const std::size_t begin = at_;
  NARROW_TRY(expect('['));
  __int128 total = 1;
  while (!take(']')) {
    if (!out.shape.empty()) NARROW_TRY(expect(','));
    const std::size_t where = at_;
    const std::int64_t extent = NARROW_TRY(number<std::int64_t>());
    if (extent < 0) return fail(where, fmt::format("the extent {} is negative", extent), "shapes are static in the text form");
    out.shape.push_back(extent);
    if (extent > 0) total *= extent;  // a later 0 must not hide an overflow of strides
    if (total > kMaxElements) return fail(begin, "the tensor is too large", "at most 2^40 elements");
  }
  return out;
}

Result<QuantParams> ValueScanner::quant(const TensorType& type) {
  const std::size_t begin = at_;
  QuantParams q;
  q.dtype = type.dtype;
  NARROW_TRY(expect('('));
  if (take('[')) {
    while (!take(']')) {
      if (!q.scale.empty()) NARROW_TRY(expect(','));
      q.scale.push_back(NARROW_TRY(number<float>()));
    }
    NARROW_TRY(expect(','));
    NARROW_TRY(expect('['));
    while (!take(']')) {
      if (!q.zero_point.empty()) NARROW_TRY(expect(','));
      q.zero_point.push_back(NARROW_TRY(number<std::int32_t>()));
    }
  } else {
    q.scale.push_back(NARROW_TRY(number<float>()));
    NARROW_TRY(expect(','));
    q.zero_point.push_back(NARROW_TRY(number<std::int32_t>()));
  }
  while (take(',')) {
    if (take_word("narrow")) {
      q.narrow_range = true;
    } else if (take_word("axis")) {
      NARROW_TRY(expect('='));
      q.axis = NARROW_TRY(number<int>());
    } else if (take_word("bits")) {
      NARROW_TRY(expect('='));
      q.bits = NARROW_TRY(number<int>());
    } else if (const auto dtype = dtype_from_name(peek_word())) {
      q.dtype = *dtype;
      at_ += peek_word().size();
    } else {
      return fail(at_, fmt::format("found {}, wanted axis=, bits=, narrow or an element type", found()));
    }
  }
  NARROW_TRY(expect(')'));
  if (is_float(q.dtype) || q.dtype == DType::kBool) return fail(begin, fmt::format("{} cannot be quantized", name_of(q.dtype)), "quantized values are integers");
  if (q.axis >= static_cast<int>(type.shape.size()) || q.axis < -1) {
    return fail(begin, fmt::format("axis {} is outside the shape {}", q.axis, to_string(type.shape)));
  }
  if (q.bits < 0 || q.bits > static_cast<int>(size_of(q.dtype)) * 8) return fail(begin, fmt::format("{} bits do not fit {}", q.bits, name_of(q.dtype)));
  const std::int64_t wanted = q.axis < 0 ? 1 : type.shape[static_cast<std::size_t>(q.axis)];
  if (static_cast<std::int64_t>(q.scale.size()) != wanted || q.scale.size() != q.zero_point.size()) {
    return fail(begin, fmt::format("{} scales and {} zero points, wanted {} of each", q.scale.size(), q.zero_point.size(), wanted));
  }
  for (const float s : q.scale) {
    if (!(s > 0) || std::isinf(s)) return fail(begin, fmt::format("the scale {} is not a positive number", exact(s)));
  }
  return q;
}

template <typename T>
Status ValueScanner::list(Tensor& tensor) {
  const std::size_t begin = at_;
  std::int64_t n = 0;  // the declared size is not trusted before the data are there
  std::vector<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>> values;
  while (!take('}')) {
    if (n > 0) NARROW_TRY(expect(','));
    values.push_back(NARROW_TRY(element<T>()));
    ++n;
  }
  if (n != tensor.elements()) return fail(begin, fmt::format("{} elements, wanted {} for {}", n, tensor.elements(), to_string(tensor.shape())));
  Tensor filled(tensor.dtype(), tensor.shape());
  std::copy(values.begin(), values.end(), filled.data<T>());
  tensor = std::move(filled);
  return {};
}

Result<Tensor> ValueScanner::generated(const TensorType& t, bool random) {
  const std::size_t begin = at_;
  if (element_count(t.shape) > kMaxGenerated) return fail(begin, "the generated constant is too large", "at most 2^28 elements");
  NARROW_TRY(expect('('));
  Tensor out;
  if (random) {
    const auto seed = NARROW_TRY(number<std::uint64_t>());
    if (take(',')) {
      const auto lo = NARROW_TRY(number<double>());
      NARROW_TRY(expect(','));
      const auto hi = NARROW_TRY(number<double>());
      // Integers are picked in 64 bits: both ends must be representable.
      constexpr double kLimit = 4503599627370496.0;
      if (!(lo <= hi) || !(std::abs(lo) <= kLimit) || !(std::abs(hi) <= kLimit)) return fail(begin, "rand() wants an interval lo <= hi within +-2^52");
      out = random_constant(t.dtype, t.shape, seed, lo, hi);
    } else {
      out = random_constant(t.dtype, t.shape, seed);
    }
  } else {
    out = Tensor(t.dtype, t.shape);
    NARROW_TRY(with_dtype(t.dtype, [&](auto tag) -> Status {
      using T = decltype(tag);
      const T value = NARROW_TRY(element<T>());
      std::fill_n(out.data<T>(), out.elements(), value);
      return {};
    }));
  }
  NARROW_TRY(expect(')'));
  return out;
}

Result<Tensor> ValueScanner::stored(const TensorType& t) {
  const std::size_t begin = at_;
  const auto offset = NARROW_TRY(number<std::uint64_t>());
  const auto bytes = static_cast<std::uint64_t>(element_count(t.shape)) * size_of(t.dtype);
  const std::uint64_t size = options_.blob.size();
  if (offset > size || bytes > size - offset) return fail(begin, fmt::format("the constant occupies bytes {}..{} of a blob of {}", offset, offset + bytes, size));
  const std::byte* data = options_.blob.data() + offset;
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(t.dtype) != 0) return fail(begin, fmt::format("offset {} is not aligned for {}", offset, name_of(t.dtype)));
  if (bytes == 0) return Tensor(t.dtype, t.shape);
  if (t.dtype == DType::kBool && std::any_of(data, data + bytes, [](std::byte b) { return b > std::byte{1}; })) return fail(begin, "a bool is neither 0 nor 1");
  return Tensor::view(t.dtype, t.shape, const_cast<std::byte*>(data), options_.keep_alive);
}

Result<Tensor> ValueScanner::elided(const TensorType& t) {
  const std::size_t begin = at_;
  if (element_count(t.shape) > kMaxGenerated) return fail(begin, "the elided constant is too large", "at most 2^28 elements");
  take_word("elided");
  NARROW_TRY(expect('('));
  while (at_ < text_.size() && text_[at_] != ')') ++at_;
  NARROW_TRY(expect(')'));
  return Tensor::zeros(t.dtype, t.shape);
}

Result<Tensor> ValueScanner::contents(const TensorType& t) {
  if (take('@')) return stored(t);
  if (take('{')) {
    Tensor out = Tensor::view(t.dtype, t.shape, nullptr);
    NARROW_TRY(with_dtype(t.dtype, [&](auto tag) { return list<decltype(tag)>(out); }));
    return out;
  }
  if (take_word("rand")) return generated(t, true);
  if (take_word("fill")) return generated(t, false);
  if (peek_word() == "elided") {
    if (!options_.elided) return fail(at_, "the data of this constant were not printed", "print the graph with its data");
    return elided(t);
  }
  return fail(at_, fmt::format("found {}, wanted the data: {{...}}, @offset, rand(seed) or fill(value)", found()));
}

}  // namespace narrow
