#include "model/refusals.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace narrow {
namespace {

// ": 3 GRU, 2 PRelu", most first, when there are more nodes than operators.
std::string operators_of(const std::vector<Refusal>& refusals) {
  std::vector<std::pair<std::string, int>> counts;
  for (const Refusal& refusal : refusals) {
    const auto found = std::find_if(counts.begin(), counts.end(), [&](const auto& entry) { return entry.first == refusal.op; });
    if (found != counts.end()) ++found->second;
    else counts.emplace_back(refusal.op, 1);
  }
  if (counts.size() == refusals.size()) return "";
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> words;
  for (const auto& [op, count] : counts) words.push_back(fmt::format("{} {}", count, op));
  return ": " + join(words, ", ");
}

}  // namespace

Status report_refusals(const std::vector<Refusal>& refusals, std::size_t nodes) {
  if (refusals.empty()) return {};
  if (refusals.size() == 1) return error("{}", refusals[0].text).with_help(refusals[0].help);
  std::vector<std::string> notes, helps;
  for (const Refusal& r : refusals) {
    notes.push_back(r.text);
    if (!r.help.empty() && std::find(helps.begin(), helps.end(), r.help) == helps.end()) helps.push_back(r.help);
  }
  return error("{} of {} nodes cannot be imported{}", refusals.size(), nodes, operators_of(refusals)).with_notes(std::move(notes)).with_help(join(helps, "; "));
}

}  // namespace narrow
