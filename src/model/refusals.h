// The nodes of a model that import refuses, said all at once.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"

namespace narrow {

struct Refusal {
  std::string text;  // "node 'x' (Op): reason"
  std::string help;
  std::string op;
};

// Ok when there is none. nodes: how many the model has.
Status report_refusals(const std::vector<Refusal>& refusals, std::size_t nodes);

}  // namespace narrow
