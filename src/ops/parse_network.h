// Text -> Graph with the operators known: names are checked and omitted output types inferred (graph/text.h has the
// form). For test cases and files that people write; dumps that carry all types need only parse_graph().
#pragma once

#include <string_view>

#include "graph/text.h"

namespace narrow {

// Errors, with line and column: those of parse_graph(), an unknown operator, inputs that do not fit it.
Result<Graph> parse_network(std::string_view text, ParseOptions options = {});

}  // namespace narrow
