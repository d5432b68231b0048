// The report on a terminal: the layers that hurt, why, and the always-same last lines.
#pragma once

#include <string>

#include "base/error.h"
#include "base/json.h"

namespace narrow {

struct SummaryOptions {
  std::size_t rows = 12;  // most damaged layers shown
};

// `report` is what report_json() made (verify_report() holds). Ends with a newline.
std::string summary_text(const Json& report, const SummaryOptions& options = {});
// What comparison_json() made, layer by layer in network order. Error: it is not that; names `file`.
Result<std::string> comparison_text(const Json& comparison, const std::string& file);
// Indices into report["layers"] of the integer layers that compute, the most damaged first.
std::vector<std::size_t> report_by_damage(const Json& report);
std::string decibels(const Json* value);  // "31.2"; null: "exact"; -999: "none" (see docs/report.md)

}  // namespace narrow
