#include "ops/layout.h"

#include <algorithm>
#include <numeric>

namespace narrow {

std::optional<std::vector<int>> permutation_of(const Node& node) {
  if (node.op != "Transpose") return std::nullopt;
  const std::vector<std::int64_t> perm = node.attrs.get_ints("perm");
  return std::vector<int>(perm.begin(), perm.end());
}

NodeSpec make_transpose(const Graph& graph, ValueId value, const std::vector<int>& perm) {
  NodeSpec spec{.name = graph.value(value).name + layout_suffix(perm), .op = "Transpose", .inputs = {value}};
  spec.attrs.set("perm", Attr(std::vector<std::int64_t>(perm.begin(), perm.end())));
  return spec;
}

NodeSpec make_reshape(const Graph& graph, ValueId value, const Shape& shape) {
  NodeSpec spec{.name = graph.value(value).name + ".reshaped", .op = "Reshape", .inputs = {value}};
  spec.attrs.set("shape", Attr(shape));
  return spec;
}

std::vector<int> inverse_of(const std::vector<int>& perm) {
  std::vector<int> inverse(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) inverse[static_cast<std::size_t>(perm[i])] = static_cast<int>(i);
  return inverse;
}

std::vector<int> compose(const std::vector<int>& first, const std::vector<int>& second) {
  std::vector<int> both;
  for (const int axis : second) both.push_back(first[static_cast<std::size_t>(axis)]);
  return both;
}

bool is_identity(const std::vector<int>& perm) { return std::is_sorted(perm.begin(), perm.end()); }

bool moves_no_data(const Shape& shape, const std::vector<int>& perm) {
  int last = -1;
  for (const int axis : perm) {
    if (shape[static_cast<std::size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

std::string layout_suffix(const std::vector<int>& perm) {
  const int rank = static_cast<int>(perm.size());
  if (rank < 3 || perm[0] != 0) return ".t";
  std::vector<int> last(perm.size()), first(perm.size());
  for (int i = 1; i < rank; ++i) {
    last[static_cast<std::size_t>(i)] = i == rank - 1 ? 1 : i + 1;
    first[static_cast<std::size_t>(i)] = i == 1 ? rank - 1 : i - 1;
  }
  if (perm == first && rank > 3) return ".nchw";
  return perm == last && rank > 3 ? ".nhwc" : ".t";
}

std::optional<PermutedReshape> permute_reshape(const Shape& from, const Shape& to, const std::vector<int>& perm) {
  // Groups of axes with equal products: input axes [a, a2) become output axes [b, b2). Axes of extent 1 stand aside.
  struct Group {
    std::vector<int> in;   // axes of `from`
    std::vector<int> out;  // axes of `to`
  };
  std::vector<int> in, out;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1) in.push_back(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] != 1) out.push_back(static_cast<int>(i));
  }
  std::vector<Group> groups;
  for (std::size_t a = 0, b = 0; a < in.size() || b < out.size();) {
    if (a == in.size() || b == out.size()) return std::nullopt;  // an extent of 0
    Group group{{in[a]}, {out[b]}};
    std::int64_t left = from[static_cast<std::size_t>(in[a++])], right = to[static_cast<std::size_t>(out[b++])];
    while (left != right) {
      if (left < right) {
        if (a == in.size()) return std::nullopt;
        left *= from[static_cast<std::size_t>(in[a])];
        group.in.push_back(in[a++]);
      } else {
        if (b == out.size()) return std::nullopt;
        right *= to[static_cast<std::size_t>(out[b])];
        group.out.push_back(out[b++]);
      }
    }
    groups.push_back(std::move(group));
  }
  // Places of the groups in x: sorted by their first axis; each must be an unbroken run there.
  const auto place = [&](int axis) { return perm[static_cast<std::size_t>(axis)]; };
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t l, std::size_t r) { return place(groups[l].in[0]) < place(groups[r].in[0]); });
  std::vector<int> seen, wanted;  // axes of x in the order of the groups, and in x's own order
  for (const std::size_t g : order) {
    for (const int axis : groups[g].in) seen.push_back(place(axis));
  }
  wanted = seen;
  std::sort(wanted.begin(), wanted.end());
  if (seen != wanted) return std::nullopt;

  // The new output: groups in x's order. A unit axis follows the axis it follows in `to`; leading ones stay in front.
  std::vector<int> axes;  // of `to`
  const auto add_units_after = [&](int axis) {
    for (std::size_t i = static_cast<std::size_t>(axis + 1); i < to.size() && to[i] == 1; ++i) axes.push_back(static_cast<int>(i));
  };
  add_units_after(-1);
  for (const std::size_t g : order) {
    for (const int axis : groups[g].out) {
      axes.push_back(axis);
      add_units_after(axis);
    }
  }
  PermutedReshape result;
  for (const int axis : axes) result.shape.push_back(to[static_cast<std::size_t>(axis)]);
  result.perm = inverse_of(axes);
  return result;
}

}  // namespace narrow
