#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "graph/graph_scanner.h"
#include "graph/text.h"

namespace narrow {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;   // of any tensor type
constexpr std::int64_t kMaxGenerated = std::int64_t{1} << 28;  // of rand() and fill(), which need memory the text does not have

struct Declaration {
  std::string name;
  std::optional<TensorType> type;
  std::optional<QuantParams> quant;
  std::size_t begin = 0;  // of the name
};

class Parser : GraphScanner {
 public:
  Parser(std::string_view text, const ParseOptions& options) : GraphScanner(text, options.file), options_(options) {}

  Result<Graph> parse() {
    while (true) {
      skip();
      if (at_ == text_.size()) break;
      NARROW_TRY(statement());
    }
    if (auto status = graph_.verify(); !status) return tl::unexpected<Error>(std::move(status.error()));
    return std::move(graph_);
  }

 private:
  // --- types

  Result<TensorType> type() {
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

  Result<QuantParams> quant(const TensorType& type) {
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

  Status type_and_quant(Declaration& d) {
    d.type = NARROW_TRY(type());
    if (take_word("q")) d.quant = NARROW_TRY(quant(*d.type));
    return {};
  }

  // %name [: type [q(...)]]
  Result<Declaration> declaration(bool type_required) {
    skip();
    Declaration d;
    d.begin = at_;
    d.name = NARROW_TRY(name());
    if (graph_.find_value(d.name)) return fail(d.begin, fmt::format("the value '{}' is defined twice", d.name), "names are unique in a graph", at_ - d.begin);
    if (type_required) NARROW_TRY(expect(':'));
    else if (!take(':')) return d;
    NARROW_TRY(type_and_quant(d));
    return d;
  }

  // --- constants

  template <typename T>
  Status list(Tensor& tensor) {
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

  Result<Tensor> generated(const TensorType& t, bool random) {
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

  Result<Tensor> stored(const TensorType& t) {
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

  Result<Tensor> contents(const TensorType& t) {
    if (take('@')) return stored(t);
    if (take('{')) {
      Tensor out = Tensor::view(t.dtype, t.shape, nullptr);
      NARROW_TRY(with_dtype(t.dtype, [&](auto tag) { return list<decltype(tag)>(out); }));
      return out;
    }
    if (take_word("rand")) return generated(t, true);
    if (take_word("fill")) return generated(t, false);
    if (peek_word() == "elided") return fail(at_, "the data of this constant were not printed", "print the graph with its data");
    return fail(at_, fmt::format("found {}, wanted the data: {{...}}, @offset, rand(seed) or fill(value)", found()));
  }

  Result<ValueId> constant(Declaration d) {
    NARROW_TRY(expect('='));
    const ValueId id = graph_.add_constant(d.name, NARROW_TRY(contents(*d.type)));
    graph_.set_quant(id, std::move(d.quant));
    return id;
  }

  // --- nodes

  Result<ValueId> operand() {
    skip();
    if (peek_word() == "_") {
      ++at_;
      return ValueId{};
    }
    const std::size_t begin = at_;
    Declaration d;
    d.begin = begin;
    d.name = NARROW_TRY(name());
    const std::size_t length = at_ - begin;
    const ValueId id = graph_.find_value(d.name);
    if (take(':')) {
      if (id) return fail(begin, fmt::format("the value '{}' is defined twice", d.name), "names are unique in a graph", length);
      NARROW_TRY(type_and_quant(d));
      return constant(std::move(d));
    }
    if (!id) {
      std::vector<std::string> names;
      for (const ValueId v : graph_.live_values()) names.push_back(graph_.value(v).name);
      return fail(begin, fmt::format("no value '{}' is defined above", d.name), did_you_mean(d.name, names), length);
    }
    return id;
  }

  Result<Attr> attribute() {
    if (next_is('"')) return Attr(NARROW_TRY(string()));
    const bool floats = take_word("floats");
    if (!take('[')) {
      if (looks_like_float()) return Attr(NARROW_TRY(number<double>()));
      return Attr(NARROW_TRY(number<std::int64_t>()));
    }
    const std::size_t begin = at_;
    bool any_float = floats;
    std::vector<std::int64_t> ints;
    std::vector<double> doubles;
    while (!take(']')) {
      if (!doubles.empty()) NARROW_TRY(expect(','));
      any_float = any_float || looks_like_float();
      if (any_float) {
        doubles.push_back(NARROW_TRY(number<double>()));
      } else {
        ints.push_back(NARROW_TRY(number<std::int64_t>()));
        doubles.push_back(static_cast<double>(ints.back()));
      }
    }
    if (!any_float) return Attr(std::move(ints));
    for (std::size_t i = 0; i < ints.size(); ++i) {
      if (doubles[i] >= 0x1p63 || static_cast<std::int64_t>(doubles[i]) != ints[i]) return fail(begin, fmt::format("{} is not exact as a float", ints[i]));
    }
    return Attr(std::move(doubles));
  }

  Status attributes(Attrs& attrs) {
    bool first = true;
    while (!take('}')) {
      if (!first) NARROW_TRY(expect(','));
      first = false;
      skip();
      const std::size_t begin = at_;
      std::string key = NARROW_TRY(word_or_string("an attribute"));
      if (attrs.has(key)) return fail(begin, fmt::format("the attribute '{}' is given twice", key));
      NARROW_TRY(expect('='));
      attrs.set(std::move(key), NARROW_TRY(attribute()));
    }
    return {};
  }

  Status node() {
    const std::size_t begin = at_;
    std::vector<Declaration> outputs;
    do {
      outputs.push_back(NARROW_TRY(declaration(false)));
      for (std::size_t i = 0; i + 1 < outputs.size(); ++i) {
        if (outputs[i].name == outputs.back().name) return fail(outputs.back().begin, fmt::format("the value '{}' is defined twice", outputs[i].name));
      }
    } while (take(','));
    NARROW_TRY(expect('='));
    skip();
    const std::size_t op_begin = at_;
    NodeSpec spec;
    spec.op = NARROW_TRY(word_or_string("an operator"));
    NARROW_TRY(expect('('));
    while (!take(')')) {
      if (!spec.inputs.empty()) NARROW_TRY(expect(','));
      spec.inputs.push_back(NARROW_TRY(operand()));
    }
    if (take('{')) NARROW_TRY(attributes(spec.attrs));
    skip();
    std::size_t name_begin = begin;
    spec.name = outputs[0].name;
    if (take_word("node")) {
      skip();
      name_begin = at_;
      spec.name = NARROW_TRY(string());
    }
    if (spec.name.empty() || graph_.find_node(spec.name)) return fail(name_begin, fmt::format("the node name '{}' is empty or used twice", spec.name));
    if (take_word("origin")) {
      NARROW_TRY(expect('['));
      while (!take(']')) {
        if (!spec.origin.empty()) NARROW_TRY(expect(','));
        spec.origin.push_back(NARROW_TRY(string()));
      }
    }
    bool typed = true;
    for (const Declaration& d : outputs) {
      spec.output_names.push_back(d.name);
      spec.output_types.push_back(d.type.value_or(TensorType{}));
      typed = typed && d.type;
    }
    for (const Declaration& d : outputs) {
      // An operand declared in the parentheses may have taken the name of an output.
      if (graph_.find_value(d.name)) return fail(d.begin, fmt::format("the value '{}' is defined twice", d.name));
      if (!d.type && !options_.infer) return fail(d.begin, fmt::format("the type of '{}' is missing", d.name), "write %name: f32[...]");
    }
    const NodeId id = graph_.append(std::move(spec));
    if (options_.infer) {
      if (auto status = options_.infer(graph_, id, typed); !status) {
        Error e = std::move(status.error());
        if (e.where.line == 0) e.where = fail(op_begin, "").value().where;
        return tl::unexpected<Error>(std::move(e));
      }
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const ValueId out = graph_.node(id).outputs[i];
      const Value& v = graph_.value(out);
      if (outputs[i].type && *outputs[i].type != TensorType{v.dtype, v.shape}) {
        return fail(outputs[i].begin, fmt::format("'{}' is declared {}{}, the operator gives {}{}", v.name, name_of(outputs[i].type->dtype),
                                                  to_string(outputs[i].type->shape), name_of(v.dtype), to_string(v.shape)));
      }
      graph_.set_quant(out, std::move(outputs[i].quant));
    }
    return {};
  }

  Status statement() {
    const std::size_t begin = at_;
    if (next_is('%')) return node();
    if (take_word("graph")) {
      graph_.name = NARROW_TRY(string());
      return {};
    }
    if (take_word("in")) {
      Declaration d = NARROW_TRY(declaration(true));
      const ValueId id = graph_.add_input(std::move(d.name), d.type->dtype, d.type->shape);
      graph_.set_quant(id, std::move(d.quant));
      return {};
    }
    if (take_word("const")) {
      NARROW_TRY(constant(NARROW_TRY(declaration(true))));
      return {};
    }
    if (take_word("out")) {
      const std::size_t where = at_;
      const ValueId id = NARROW_TRY(operand());
      if (!id) return fail(where, "an output cannot be absent");
      graph_.add_output(id);
      return {};
    }
    return fail(begin, fmt::format("found {}, wanted graph, in, const, out or %name", found()));
  }

  const ParseOptions& options_;
  Graph graph_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, const ParseOptions& options) { return Parser(text, options).parse(); }

}  // namespace narrow
