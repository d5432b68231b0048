// One self-contained page from the report's JSON: summary, findings, a sortable table of all layers, histograms with the chosen range
// drawn in. No external resources; the JSON stands in the page, so nothing is lost.
#pragma once

#include <string>

#include "base/json.h"

namespace narrow {

// verify_report(report) holds.
std::string report_html(const Json& report);

}  // namespace narrow
