// Importing a channels-first network wraps every channels-last operator in two Transposes. They are moved towards the
// outputs, through every operator that can work on permuted axes, until pairs meet and cancel. What remains stands where
// the order of axes really changes: at channels-first inputs and outputs, and in attention.

#include "ops/layout.h"
#include "ops/op_def.h"
#include "passes/edits.h"
#include "passes/fold_constants.h"
#include "passes/passes.h"
#include "passes/transposes.h"

namespace narrow {
namespace {

using Perm = std::vector<int>;

// Removes `id` if nobody reads it any more, and then the Transposes that fed it.
void drop_unused(Graph& graph, NodeId id) {
  while (id && graph.node(id).alive && permutation_of(graph.node(id)) && graph.value(graph.node(id).outputs[0]).users.empty() && !graph.is_output(graph.node(id).outputs[0])) {
    const NodeId before = graph.value(graph.node(id).inputs[0]).producer;
    graph.erase(id);
    id = before;
  }
}

// --- one Transpose against another -----------------------------------------------------------------------------------

// Transpose of a constant, of a Transpose, of nothing, or the double of another one.
bool simplify(Graph& graph, NodeId id) {
  const auto perm = permutation_of(graph.node(id));
  if (!perm) return false;
  const ValueId x = graph.node(id).inputs[0], y = graph.node(id).outputs[0];
  if (graph.value(x).is_constant()) return !fold_node(graph, id).empty();
  if (is_identity(*perm) && can_replace(graph, y, x)) {
    graph.replace_uses(y, x);
    graph.erase(id);
    return true;
  }
  if (const auto inner = transposed_by(graph, x)) {
    const NodeId before = graph.value(x).producer;
    const Perm both = compose(*inner, *perm);
    graph.set_input(id, 0, transpose_source(graph, x));
    graph.attrs(id).set("perm", Attr(std::vector<std::int64_t>(both.begin(), both.end())));
    graph.add_origin(id, graph.node(before).origin);
    drop_unused(graph, before);
    return true;
  }
  for (const NodeId other : graph.value(x).users) {
    if (other == id || graph.is_output(y) || permutation_of(graph.node(other)) != perm) continue;
    // The users of `id` may stand before `other`, never the other way round after sort().
    graph.replace_uses(y, graph.node(other).outputs[0]);
    graph.erase(id);
    graph.sort();
    return true;
  }
  return false;
}

// --- moving below a node ---------------------------------------------------------------------------------------------

struct Move {
  Perm perm;                         // of the inputs; where a Transpose differs from it in axes of extent 1 only, its source is reshaped
  std::vector<std::size_t> lifted;   // slots fed by a Transpose with this permutation
  std::vector<std::size_t> inserted; // slots that need the inverse in front
};

// Does `value` already have a copy transposed by `perm`?
ValueId existing_copy(const Graph& graph, ValueId value, const Perm& perm) {
  for (const NodeId user : graph.value(value).users) {
    if (permutation_of(graph.node(user)) == perm) return graph.node(user).outputs[0];
  }
  return {};
}

// What moving `perm` below the node would gain: Transposes that vanish minus those that appear.
int gain(const Graph& graph, NodeId id, const Move& move) {
  int balance = 0;
  for (const std::size_t slot : move.lifted) balance += graph.single_user(graph.node(id).inputs[slot]) == id ? 1 : 0;
  for (const std::size_t slot : move.inserted) {
    const ValueId in = graph.node(id).inputs[slot];
    const bool free = existing_copy(graph, in, inverse_of(move.perm)) || moves_no_data(graph.value(in).shape, inverse_of(move.perm));
    balance -= free ? 0 : 1;
  }
  for (const ValueId out : graph.node(id).outputs) {
    bool all_cancel = !graph.is_output(out) && !graph.value(out).users.empty();
    for (const NodeId user : graph.value(out).users) {
      if (permutation_of(graph.node(user)) == inverse_of(move.perm)) ++balance;
      else all_cancel = false;
    }
    balance -= all_cancel ? 0 : 1;
  }
  return balance;
}

// Output axes longer than 1 in the order in which they lie in the input.
std::vector<std::size_t> data_order(const Shape& shape, const Perm& perm) {
  std::vector<std::size_t> axes;
  for (const int axis : inverse_of(perm)) {
    if (shape[static_cast<std::size_t>(axis)] != 1) axes.push_back(static_cast<std::size_t>(axis));
  }
  return axes;
}
// Two Transposes with the output `shape` that differ in axes of extent 1 only.
bool moves_alike(const Shape& shape, const Perm& a, const Perm& b) { return a == b || (a.size() == b.size() && data_order(shape, a) == data_order(shape, b)); }
// Of all Transposes that move data alike, one is common.
bool is_common_form(const Shape& shape, const Perm& perm) {
  const auto common = permute_reshape(shape, shape, perm);
  return common && common->perm == perm;
}

// The move that would take Transposes from the node's inputs, if all data inputs that are not constant have the same
// one, or if inserting the inverse at the others pays.
std::optional<Move> find_move(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  Move move;
  for (const ValueId in : node.inputs) {
    const auto perm = transposed_by(graph, in);
    if (perm && (move.perm.empty() || is_common_form(graph.value(in).shape, *perm))) move.perm = *perm;
  }
  for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
    const ValueId in = node.inputs[slot];
    if (!in || graph.value(in).is_constant()) continue;
    const auto perm = transposed_by(graph, in);
    (perm && moves_alike(graph.value(in).shape, *perm, move.perm) ? move.lifted : move.inserted).push_back(slot);
  }
  if (move.lifted.empty()) return std::nullopt;
  if (move.inserted.empty()) return move;
  for (const std::size_t slot : move.inserted) {
    if (graph.value(node.inputs[slot]).shape.size() != move.perm.size()) return std::nullopt;
  }
  if (gain(graph, id, move) <= 0) return std::nullopt;
  return move;
}

// The node's output `y` has just become permuted; everybody else goes on reading the old order of axes.
void transpose_output(Graph& graph, NodeId id, ValueId y, const Perm& perm) {
  if (graph.value(y).users.empty() && !graph.is_output(y)) return;
  const bool was_output = graph.is_output(y);
  const std::string name = graph.value(y).name;
  NodeSpec spec = make_transpose(graph, y, perm);
  spec.origin = graph.node(id).origin;
  const NodeId t = graph.insert_after(id, std::move(spec));
  must_infer(graph, t);
  graph.replace_uses(y, graph.node(t).outputs[0]);
  graph.set_input(t, 0, y);
  if (was_output) graph.rename(y, name + layout_suffix(inverse_of(perm)));
}

bool sink(Graph& graph, NodeId id) {
  if (permutation_of(graph.node(id))) return false;
  const OpDef& op = op_of(graph.node(id));
  if (!can_be_permuted(graph.node(id))) return false;
  const auto move = find_move(graph, id);
  if (!move) return false;
  if (graph.node(id).outputs.size() == 1) {
    const ValueId in = only_computed_input(graph, id);
    if (in && graph.is_input(transpose_source(graph, in)) && ends_blocked(graph, graph.node(id).outputs[0])) return false;
  }
  std::vector<Shape> before;
  for (const ValueId out : graph.node(id).outputs) before.push_back(graph.value(out).shape);
  Perm out_perm = move->perm;
  if (op.permute == nullptr || !op.permute(graph, id, move->perm)) {
    if (op.permute_axes == nullptr || !move->inserted.empty()) return false;
    const auto other = op.permute_axes(graph, id, move->perm);
    if (!other) return false;
    out_perm = *other;
  }
  for (const std::size_t slot : move->inserted) {
    const ValueId in = graph.node(id).inputs[slot];
    ValueId copy = existing_copy(graph, in, inverse_of(move->perm));
    if (!copy) {
      const NodeId t = graph.insert_before(id, make_transpose(graph, in, inverse_of(move->perm)));
      must_infer(graph, t);
      copy = graph.node(t).outputs[0];
    }
    graph.set_input(id, slot, copy);
  }
  for (const std::size_t slot : move->lifted) {
    const ValueId in = graph.node(id).inputs[slot];
    const NodeId t = graph.value(in).producer;
    ValueId source = transpose_source(graph, in);
    Shape wanted(move->perm.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[static_cast<std::size_t>(move->perm[i])] = graph.value(in).shape[i];
    if (wanted != graph.value(source).shape) {
      NodeSpec spec = make_reshape(graph, source, wanted);
      spec.origin = graph.node(t).origin;
      const NodeId view = graph.insert_before(id, std::move(spec));
      must_infer(graph, view);
      source = graph.node(view).outputs[0];
    }
    graph.set_input(id, slot, source);
    drop_unused(graph, t);
  }
  if (!move->inserted.empty()) graph.sort();
  must_infer(graph, id);
  const std::vector<ValueId> outputs = graph.node(id).outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Shape& now = graph.value(outputs[i]).shape;
    bool fits = now.size() == before[i].size() && out_perm.size() == now.size();
    for (std::size_t d = 0; fits && d < now.size(); ++d) fits = before[i][d] == now[static_cast<std::size_t>(out_perm[d])];
    NARROW_CHECK(fits, "'{}' ({}) says it can be permuted, but its output {} becomes {}", graph.node(id).name, op.name, to_string(before[i]), to_string(now));
    if (!is_identity(out_perm)) transpose_output(graph, id, outputs[i], out_perm);
  }
  return true;
}

// --- what is left ------------------------------------------------------------------------------------------------------

// Flattening a transposed map in front of a matrix: the columns of the matrix change places instead.
bool permute_columns(Graph& graph, NodeId id) {
  const LinearForm* form = op_of(graph.node(id)).linear;
  if (form == nullptr) return false;
  const ValueId w = graph.node(id).inputs[static_cast<std::size_t>(form->weight)], flat = graph.node(id).inputs[0];
  const Node* view = graph.producer(flat);
  if (!graph.value(w).is_constant() || graph.value(w).shape.size() != 2 || view == nullptr || !op_of(*view).view || graph.single_user(flat) != id) return false;
  const NodeId view_id = graph.value(flat).producer;
  const ValueId map = view->inputs[0];
  const auto perm = transposed_by(graph, map);
  const Shape& from = graph.value(map).shape;
  if (!perm || (*perm)[0] != 0 || graph.value(flat).shape != Shape{from[0], element_count(from) / from[0]}) return false;
  // columns[k]: where the k-th element of the flattened transposed map lies in the map as it is.
  const ValueId x = transpose_source(graph, map);
  Shape inner(graph.value(x).shape.begin() + 1, graph.value(x).shape.end());
  Perm inner_perm;
  for (std::size_t i = 1; i < perm->size(); ++i) inner_perm.push_back((*perm)[i] - 1);
  Tensor place(DType::kI64, inner);
  for (std::int64_t i = 0; i < place.elements(); ++i) place.data<std::int64_t>()[i] = i;
  const std::vector<std::int64_t> columns = transposed(place, inner_perm).to_ints();

  const Tensor& old = graph.value(w).constant;
  Tensor moved(DType::kF32, old.shape());
  const std::int64_t rows = form->out_axis == 0 ? old.shape()[0] : old.shape()[1], count = static_cast<std::int64_t>(columns.size());
  const std::vector<std::int64_t> strides = strides_of(old.shape());
  const std::int64_t row = strides[static_cast<std::size_t>(form->out_axis)], column = strides[static_cast<std::size_t>(form->in_axis)];
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t k = 0; k < count; ++k) moved.data<float>()[r * row + columns[static_cast<std::size_t>(k)] * column] = old.data<float>()[r * row + k * column];
  }
  const NodeId t = graph.value(map).producer;
  if (graph.single_user(map) != view_id) {  // somebody else needs the old order of the flattened map's source
    NodeSpec spec = make_reshape(graph, x, graph.value(flat).shape);
    spec.origin = view->origin;
    const NodeId own = graph.insert_before(id, std::move(spec));
    must_infer(graph, own);
    graph.set_input(id, 0, graph.node(own).outputs[0]);
    graph.erase(view_id);
  } else {
    graph.set_input(view_id, 0, x);
  }
  drop_unused(graph, t);
  set_parameter(graph, id, static_cast<std::size_t>(form->weight), std::move(moved), "");
  return true;
}

}  // namespace

std::size_t sink_transposes(Graph& graph) {
  std::size_t total = 0;
  while (const std::size_t n = everywhere(graph, simplify) + everywhere(graph, sink)) total += n;
  // Only now: what could still have cancelled must not be made permanent.
  const std::size_t rest = everywhere(graph, permute_columns);
  if (total + rest > 0) graph.remove_dead();
  return total + rest;
}

}  // namespace narrow
