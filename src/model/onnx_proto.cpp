#include "model/onnx_proto.h"

#include <limits>

#include "model/onnx_tensors.h"

namespace narrow {
namespace {

// --- telling a truncated model from something else ---

bool read_varint(std::span<const std::byte> bytes, std::size_t* at, std::uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (*at >= bytes.size()) return false;
    const auto b = std::to_integer<std::uint64_t>(bytes[(*at)++]);
    *value |= (b & 0x7f) << shift;
    if ((b & 0x80) == 0) return true;
  }
  return false;
}

// Walks the outermost fields of what should be a ModelProto and says why it cannot be one.
Error why_unreadable(std::span<const std::byte> bytes, const std::string& path) {
  const Error not_onnx = error("'{}' is not an ONNX model: it is not a protobuf message of that kind", path).with_help("give a file written by an ONNX exporter (.onnx)");
  std::size_t at = 0;
  while (at < bytes.size()) {
    std::uint64_t tag = 0, value = 0;
    if (!read_varint(bytes, &at, &tag)) return not_onnx;
    const std::uint64_t field = tag >> 3, wire = tag & 7;
    const bool is_number = field == 1 || field == 5;  // ir_version, model_version
    const bool is_message = field == 2 || field == 3 || field == 4 || (field >= 6 && field <= 8) || field == 14 || field == 20 || field == 25;
    if (!(is_number && wire == 0) && !(is_message && wire == 2)) return not_onnx;
    if (!read_varint(bytes, &at, &value)) break;
    if (is_message && value > bytes.size() - at) break;
    if (is_message) at += value;
  }
  if (at >= bytes.size() && !bytes.empty()) return error("'{}' is a damaged ONNX model: its contents do not decode", path).with_help("copy or export the model again");
  return error("'{}' is truncated: it ends after {} bytes in the middle of the model", path, bytes.size()).with_help("copy or download the model again");
}

// --- protobuf -> structs ---

Result<OnnxAttribute> read_attribute(const onnx::AttributeProto& proto, TensorReader& tensors) {
  OnnxAttribute out{.name = proto.name(), .value = {}};
  using A = onnx::AttributeProto;
  switch (proto.type()) {
    case A::INT: out.value = static_cast<std::int64_t>(proto.i()); break;
    case A::FLOAT: out.value = static_cast<double>(proto.f()); break;
    case A::STRING: out.value = proto.s(); break;
    case A::INTS: out.value = std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end()); break;
    case A::FLOATS: out.value = std::vector<double>(proto.floats().begin(), proto.floats().end()); break;
    case A::TENSOR: {
      auto tensor = tensors.read(proto.t());
      if (!tensor) return tl::unexpected<Error>(std::move(tensor.error()).in(fmt::format("attribute '{}'", proto.name())));
      out.value = std::move(*tensor);
      break;
    }
    case A::STRINGS: out.value = std::vector<std::string>(proto.strings().begin(), proto.strings().end()); break;
    case A::GRAPH:
    case A::GRAPHS: out.value = OnnxOther{"a sub-graph"}; break;
    default: out.value = OnnxOther{"a value of a kind that is not supported"}; break;
  }
  return out;
}

OnnxValueInfo read_value_info(const onnx::ValueInfoProto& proto) {
  OnnxValueInfo out{.name = proto.name(), .dtype = {}, .type_name = "no type", .shape = {}};
  if (!proto.type().has_tensor_type()) {
    if (proto.type().value_case() != onnx::TypeProto::VALUE_NOT_SET) out.type_name = "a sequence, map or other non-tensor";
    return out;
  }
  const auto& type = proto.type().tensor_type();
  out.type_name = onnx_type_name(type.elem_type());
  out.dtype = dtype_of_onnx_code(type.elem_type());
  if (type.has_shape()) {
    out.shape.emplace();
    for (const auto& d : type.shape().dim()) {
      OnnxDimension dimension;
      if (d.has_dim_value() && d.dim_value() > 0) dimension.extent = d.dim_value();
      dimension.symbol = d.dim_param();
      out.shape->push_back(std::move(dimension));
    }
  }
  return out;
}

Result<OnnxNode> read_node(const onnx::NodeProto& proto, TensorReader& tensors) {
  OnnxNode node{.name = proto.name(), .op = proto.op_type(), .domain = proto.domain(), .inputs = {proto.input().begin(), proto.input().end()},
                .outputs = {proto.output().begin(), proto.output().end()}, .attributes = {}};
  if (node.domain == "ai.onnx") node.domain.clear();
  for (const auto& attribute : proto.attribute()) {
    auto read = read_attribute(attribute, tensors);
    if (!read) return tl::unexpected<Error>(std::move(read.error()).in(fmt::format("node '{}' ({})", node.name.empty() ? "-> " + (node.outputs.empty() ? "" : node.outputs[0]) : node.name, node.op)));
    node.attributes.push_back(std::move(*read));
  }
  return node;
}

}  // namespace

Result<OnnxModel> read_onnx(const std::string& path) {
  onnx::ModelProto proto;
  {
    const auto file = NARROW_TRY(MappedFile::open(path));
    const auto bytes = file->bytes();
    if (bytes.empty()) return error("'{}' is empty", path).with_help("give a file written by an ONNX exporter (.onnx)");
    if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      return error("'{}' has more than 2 GB", path).with_help("save the model with its weights as external data");
    }
    if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return tl::unexpected<Error>(why_unreadable(bytes, path));
    if (!proto.has_graph()) {
      if (!proto.has_ir_version() && proto.opset_import_size() == 0) {  // other files may decode by chance, as unknown fields
        return error("'{}' is not an ONNX model: it has neither a version nor a graph", path).with_help("give a file written by an ONNX exporter (.onnx)");
      }
      return error("'{}' is truncated: it has a header but no graph", path).with_help("copy or download the model again");
    }
  }

  OnnxModel model;
  model.graph_name = proto.graph().name();
  model.ir_version = proto.ir_version();
  for (const auto& opset : proto.opset_import()) model.opsets.emplace_back(opset.domain() == "ai.onnx" ? "" : opset.domain(), opset.version());
  if (model.opsets.empty()) return error("'{}' is truncated or damaged: it does not say which operator set it uses", path).with_help("copy or export the model again");
  TensorReader tensors(path);
  auto& graph = *proto.mutable_graph();
  if (graph.sparse_initializer_size() > 0) {
    return error("'{}' has sparse initializers, which are not supported", path).with_help("export the model with dense weights");
  }
  for (auto& initializer : *graph.mutable_initializer()) {
    auto tensor = tensors.read(initializer);
    if (!tensor) return tl::unexpected<Error>(std::move(tensor.error()).in(fmt::format("initializer '{}' of '{}'", initializer.name(), path)));
    model.initializers.push_back({initializer.name(), std::move(*tensor)});
    initializer.Clear();  // a large model need not be in memory twice
  }
  for (const auto& node : graph.node()) {
    auto read = read_node(node, tensors);
    if (!read) return tl::unexpected<Error>(std::move(read.error()).in(fmt::format("'{}'", path)));
    model.nodes.push_back(std::move(*read));
  }
  for (const auto& input : graph.input()) model.inputs.push_back(read_value_info(input));
  for (const auto& output : graph.output()) model.outputs.push_back(read_value_info(output));
  return model;
}

// --- structs -> protobuf ---

namespace {

void write_attribute(const OnnxAttribute& attribute, onnx::AttributeProto* proto) {
  proto->set_name(attribute.name);
  using A = onnx::AttributeProto;
  if (const auto* i = std::get_if<std::int64_t>(&attribute.value)) {
    proto->set_type(A::INT);
    proto->set_i(*i);
  } else if (const auto* f = std::get_if<double>(&attribute.value)) {
    proto->set_type(A::FLOAT);
    proto->set_f(static_cast<float>(*f));
  } else if (const auto* s = std::get_if<std::string>(&attribute.value)) {
    proto->set_type(A::STRING);
    proto->set_s(*s);
  } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    proto->set_type(A::INTS);
    for (const std::int64_t x : *ints) proto->add_ints(x);
  } else if (const auto* floats = std::get_if<std::vector<double>>(&attribute.value)) {
    proto->set_type(A::FLOATS);
    for (const double x : *floats) proto->add_floats(static_cast<float>(x));
  } else if (const auto* tensor = std::get_if<Tensor>(&attribute.value)) {
    proto->set_type(A::TENSOR);
    write_tensor("", *tensor, proto->mutable_t());
  } else {
    NARROW_CHECK(false, "attribute '{}' cannot be written", attribute.name);
  }
}

void write_value_info(const OnnxValueInfo& info, onnx::ValueInfoProto* proto) {
  NARROW_CHECK(info.dtype && info.shape, "value '{}'", info.name);
  proto->set_name(info.name);
  auto* type = proto->mutable_type()->mutable_tensor_type();
  type->set_elem_type(static_cast<int>(onnx_code_of(*info.dtype)));
  auto* shape = type->mutable_shape();
  for (const OnnxDimension& dimension : *info.shape) {
    auto* d = shape->add_dim();
    if (dimension.extent) d->set_dim_value(*dimension.extent);
    else d->set_dim_param(dimension.symbol);
  }
}

}  // namespace

Result<std::string> write_onnx(const OnnxModel& model, const std::string& producer_version) {
  onnx::ModelProto proto;
  proto.set_ir_version(model.ir_version);
  proto.set_producer_name("narrow");
  proto.set_producer_version(producer_version);
  for (const auto& [domain, version] : model.opsets) {
    auto* opset = proto.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  }
  auto* graph = proto.mutable_graph();
  graph->set_name(model.graph_name.empty() ? "graph" : model.graph_name);
  for (const OnnxNode& node : model.nodes) {
    auto* n = graph->add_node();
    n->set_name(node.name);
    n->set_op_type(node.op);
    n->set_domain(node.domain);
    for (const std::string& in : node.inputs) n->add_input(in);
    for (const std::string& out : node.outputs) n->add_output(out);
    for (const OnnxAttribute& attribute : node.attributes) write_attribute(attribute, n->add_attribute());
  }
  for (const OnnxInitializer& initializer : model.initializers) write_tensor(initializer.name, initializer.tensor, graph->add_initializer());
  for (const OnnxValueInfo& input : model.inputs) write_value_info(input, graph->add_input());
  for (const OnnxValueInfo& output : model.outputs) write_value_info(output, graph->add_output());
  if (proto.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return error("the model '{}' would need {} bytes in one ONNX file, at most 2 GB are possible", model.graph_name, proto.ByteSizeLong());
  }
  std::string bytes;
  NARROW_CHECK(proto.SerializeToString(&bytes));
  return bytes;
}

}  // namespace narrow
