#include "base/text.h"
#include "graph/value_scanner.h"

namespace narrow {
namespace {

struct Declaration {
  std::string name;
  std::optional<TensorType> type;
  std::optional<QuantParams> quant;
  std::size_t begin = 0;  // of the name
};

class Parser : ValueScanner {
 public:
  Parser(std::string_view text, const ParseOptions& options) : ValueScanner(text, options) {}

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

  // --- constants and nodes

  Result<ValueId> constant(Declaration d) {
    NARROW_TRY(expect('='));
    const ValueId id = graph_.add_constant(d.name, NARROW_TRY(contents(*d.type)));
    graph_.set_quant(id, std::move(d.quant));
    return id;
  }

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

  Graph graph_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, const ParseOptions& options) { return Parser(text, options).parse(); }

}  // namespace narrow
