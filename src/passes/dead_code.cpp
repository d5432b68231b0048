// What no output needs is removed.
#include "passes/passes.h"

namespace narrow {

std::size_t dead_code(Graph& graph) { return graph.remove_dead(); }

}  // namespace narrow
