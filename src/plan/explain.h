// `narrow explain`: who decided each number. A table print of the Plan.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "graph/graph.h"
#include "plan/plan.h"

namespace narrow {

// All layers, or those that match `layer` (a glob over names of layers, values and original nodes). Error: nothing matches.
// graph may be nullptr (then rows come in the order of the plan and only names of the plan match).
Result<std::string> explain(const Plan& plan, const Graph* graph, std::string_view layer = {});
Result<Json> explain_json(const Plan& plan, const Graph* graph, std::string_view layer = {});

}  // namespace narrow
