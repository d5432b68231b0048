// Axes and their order: what passes need to move Transposes about without naming operators.
// A permutation p means: output axis i is input axis p[i].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace narrow {

// The permutation of a node that does nothing but transpose; nullopt for any other node.
std::optional<std::vector<int>> permutation_of(const Node& node);
NodeSpec make_transpose(const Graph& graph, ValueId value, const std::vector<int>& perm);
NodeSpec make_reshape(const Graph& graph, ValueId value, const Shape& shape);

std::vector<int> inverse_of(const std::vector<int>& perm);  // undoes it: compose(perm, inverse_of(perm)) is the identity
// First `first`, then `second`.
std::vector<int> compose(const std::vector<int>& first, const std::vector<int>& second);
bool is_identity(const std::vector<int>& perm);
// True when only axes of extent 1 change places, so that the bytes stay as they are. `shape` is the input's.
bool moves_no_data(const Shape& shape, const std::vector<int>& perm);
// ".nchw", ".nhwc" or ".t": what the name of a transposed copy ends in.
std::string layout_suffix(const std::vector<int>& perm);

// Reshape(Transpose(x, perm), to) as Transpose(Reshape(x, shape), perm'): possible when the axes that the reshape joins lie
// side by side in x in the same order (axes of extent 1 lie anywhere). `from` is the shape of the transposed x.
struct PermutedReshape {
  Shape shape;
  std::vector<int> perm;
};
// With `to` equal to `from` it gives all Transposes that differ in axes of extent 1 only one common form.
std::optional<PermutedReshape> permute_reshape(const Shape& from, const Shape& to, const std::vector<int>& perm);

}  // namespace narrow
