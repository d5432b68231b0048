#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "base/text.h"
#include "graph/text.h"

namespace narrow {
namespace {

constexpr std::size_t kBlobAlignment = 64;

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/' || c == '-';
  });
}

// A float always looks like one: it has a point, an exponent, or is inf or nan.
template <typename T>
std::string float_literal(T value) {
  std::string text = exact(value);
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}

template <typename T>
std::string element(T value) {
  if constexpr (std::is_same_v<T, bool>) return value ? "1" : "0";
  else if constexpr (std::is_floating_point_v<T>) return exact(value);
  else return std::to_string(value);
}

class Printer {
 public:
  Printer(const Graph& graph, const PrintOptions& options) : graph_(graph), options_(options), printed_(graph.value_slots(), 0) {}

  std::string print() {
    out_ = "graph " + quoted(graph_.name) + "\n";
    for (const ValueId id : graph_.inputs()) {
      out_ += "in ";
      value(id);
      out_ += '\n';
    }
    for (const NodeId id : graph_.order()) {
      for (const ValueId in : graph_.node(id).inputs) {
        if (in) constant(in);
      }
      node(graph_.node(id));
    }
    for (const ValueId id : graph_.live_values()) constant(id);
    for (const ValueId id : graph_.outputs()) {
      out_ += "out ";
      name(id);
      out_ += '\n';
    }
    return std::move(out_);
  }

 private:
  void name(ValueId id) {
    const std::string& text = graph_.value(id).name;
    out_ += '%';
    out_ += is_word(text) ? text : quoted(text);
  }

  void value(ValueId id) {
    const Value& v = graph_.value(id);
    name(id);
    out_ += ": ";
    out_ += name_of(v.dtype);
    out_ += to_string(v.shape);
    if (v.quant) quant(*v.quant, v.dtype);
  }

  void quant(const QuantParams& q, DType stored) {
    out_ += " q(";
    if (q.per_channel() || q.scale.size() != 1) {
      out_ += '[';
      for (std::size_t i = 0; i < q.scale.size(); ++i) (out_ += i > 0 ? "," : "") += exact(q.scale[i]);
      out_ += "], [";
      for (std::size_t i = 0; i < q.zero_point.size(); ++i) (out_ += i > 0 ? "," : "") += std::to_string(q.zero_point[i]);
      out_ += fmt::format("], axis={}", q.axis);
    } else {
      out_ += fmt::format("{}, {}", exact(q.scale[0]), q.zero_point[0]);
    }
    if (q.bits != 0) out_ += fmt::format(", bits={}", q.bits);
    if (q.narrow_range) out_ += ", narrow";
    if (q.dtype != stored) out_ += fmt::format(", {}", name_of(q.dtype));
    out_ += ')';
  }

  void constant(ValueId id) {
    const Value& v = graph_.value(id);
    if (!v.is_constant() || printed_[id.index] != 0) return;
    printed_[id.index] = 1;
    out_ += "const ";
    value(id);
    out_ += " = ";
    contents(v.constant);
    out_ += '\n';
  }

  void contents(const Tensor& tensor) {
    const std::int64_t n = tensor.elements();
    if (n > options_.max_inline_elements && n > 0) {
      if (options_.blob == nullptr) out_ += fmt::format("elided({})", hash_to_string(tensor.hash()));
      else out_ += fmt::format("@{}", store(tensor));
      return;
    }
    with_dtype(tensor.dtype(), [&](auto tag) {
      using T = decltype(tag);
      const T* x = tensor.data<T>();
      const bool uniform = n > 4 && std::all_of(x, x + n, [&](const T& e) { return std::memcmp(&e, x, sizeof(T)) == 0; });
      if (uniform) {
        out_ += "fill(" + element(x[0]) + ")";
        return;
      }
      out_ += '{';
      for (std::int64_t i = 0; i < n; ++i) (out_ += i > 0 ? ", " : "") += element(x[i]);
      out_ += '}';
    });
  }

  std::size_t store(const Tensor& tensor) {
    std::string& blob = *options_.blob;
    const auto* data = static_cast<const char*>(tensor.raw());
    const auto [begin, end] = stored_.equal_range(hash_bytes(data, tensor.bytes()));
    for (auto it = begin; it != end; ++it) {
      if (it->second + tensor.bytes() <= blob.size() && std::memcmp(blob.data() + it->second, data, tensor.bytes()) == 0) return it->second;
    }
    blob.resize((blob.size() + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment, '\0');
    const std::size_t offset = blob.size();
    blob.append(data, tensor.bytes());
    stored_.emplace(hash_bytes(data, tensor.bytes()), offset);
    return offset;
  }

  void attribute(const Attr& attr) {
    if (const auto* i = std::get_if<std::int64_t>(&attr)) out_ += std::to_string(*i);
    if (const auto* d = std::get_if<double>(&attr)) out_ += float_literal(*d);
    if (const auto* s = std::get_if<std::string>(&attr)) out_ += quoted(*s);
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attr)) out_ += to_string(*list);
    if (const auto* list = std::get_if<std::vector<double>>(&attr)) {
      out_ += list->empty() ? "floats[" : "[";
      for (std::size_t i = 0; i < list->size(); ++i) (out_ += i > 0 ? "," : "") += float_literal((*list)[i]);
      out_ += ']';
    }
  }

  void node(const Node& n) {
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      if (i > 0) out_ += ", ";
      value(n.outputs[i]);
    }
    out_ += " = " + (is_word(n.op) ? n.op : quoted(n.op)) + "(";
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      if (i > 0) out_ += ", ";
      if (n.inputs[i]) name(n.inputs[i]);
      else out_ += '_';
    }
    out_ += ')';
    if (!n.attrs.all().empty()) {
      const char* separator = " {";
      for (const auto& [key, attr] : n.attrs.all()) {
        out_ += separator + (is_word(key) ? key : quoted(key)) + "=";
        attribute(attr);
        separator = ", ";
      }
      out_ += '}';
    }
    if (n.name != graph_.value(n.outputs[0]).name) out_ += " node " + quoted(n.name);
    if (!n.origin.empty()) {
      out_ += " origin [";
      for (std::size_t i = 0; i < n.origin.size(); ++i) out_ += (i > 0 ? ", " : "") + quoted(n.origin[i]);
      out_ += ']';
    }
    out_ += '\n';
  }

  const Graph& graph_;
  const PrintOptions& options_;
  std::string out_;
  std::vector<char> printed_;
  std::unordered_multimap<std::uint64_t, std::size_t> stored_;  // content hash -> offset in the blob
};

}  // namespace

std::string print_graph(const Graph& graph, const PrintOptions& options) { return Printer(graph, options).print(); }

}  // namespace narrow
