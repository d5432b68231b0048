#include "report/summary.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/table.h"
#include "base/text.h"
#include "report/json.h"

namespace narrow {
namespace {

constexpr std::size_t kFindingsShown = 3;
constexpr std::size_t kReasonWidth = 60;
constexpr std::size_t kTableWidth = 120;
constexpr std::size_t kShortestName = 30, kLongestDecision = 30;

double number(const Json& object, std::string_view key, double fallback = 0) {
  const Json* found = object.find(key);
  return found != nullptr && found->is_number() ? found->as_double() : fallback;
}
// On one line, whatever the model calls its layers.
std::string word(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  return found != nullptr && found->is_string() ? printable(found->as_string()) : std::string();
}
double sqnr(const Json& layer, std::string_view view) {
  const Json* metrics = layer.find(view);
  return metrics == nullptr ? std::numeric_limits<double>::infinity() : number(*metrics, "sqnr_db", std::numeric_limits<double>::infinity());
}

std::string count_text(double n) {
  if (n >= 1e6) return fmt::format("{:.2f} M", n / 1e6);
  if (n >= 1e3) return fmt::format("{:.1f} k", n / 1e3);
  return fmt::format("{:.0f}", n);
}

std::string shortened(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  return "..." + text.substr(text.size() - (width - 3));  // the end of a path-like name tells more than its beginning
}

// "default: mse over 64 samples" -> "default: mse": the number of samples is the same in every row and stands below.
std::string without_samples(const std::string& decision) {
  const std::size_t at = decision.find(" over "), end = decision.find(" samples", at);
  return at == std::string::npos || end == std::string::npos ? decision : decision.substr(0, at) + decision.substr(end + std::string_view(" samples").size());
}

std::string decision(const Json& layer) {
  const std::string text = without_samples(word(layer, "decided_by"));
  return text.size() <= kLongestDecision ? text : text.substr(0, kLongestDecision - 3) + "...";
}

// The column "output dB" (what the layer alone costs at the outputs) is there when it was measured.
std::string layer_table(const Json& report, std::size_t rows) {
  const Json::Array& layers = report.find("layers")->items();
  const std::vector<std::size_t> order = report_by_damage(report);
  const bool at_outputs = !order.empty() && layers[order[0]].find("output") != nullptr;
  std::vector<Table::Column> columns{{"layer"}, {"type"}, {"weights"}, {"out"}, {"alone dB", Align::kRight}, {"total dB", Align::kRight}, {"clipped %", Align::kRight}, {"decided by"}};
  if (at_outputs) columns.insert(columns.begin() + 4, {"output dB", Align::kRight});
  Table table(columns);
  const std::size_t shown = std::min(rows, order.size());
  std::size_t op = 4, decided = 10;
  for (std::size_t i = 0; i < shown; ++i) {
    op = std::max(op, word(layers[order[i]], "op").size());
    decided = std::max(decided, decision(layers[order[i]]).size());
  }
  const std::size_t others = 2 + op + 2 + 14 + 2 + 3 + (at_outputs ? 2 + 9 : 0) + 2 + 8 + 2 + 8 + 2 + 9 + 2 + decided;
  const std::size_t name = std::max(kShortestName, kTableWidth - std::min(kTableWidth, others));
  for (std::size_t i = 0; i < shown; ++i) {
    const Json& layer = layers[order[i]];
    std::vector<std::string> row{shortened(word(layer, "name"), name), word(layer, "op"), word(layer, "weights"), word(layer, "dtype"), decibels(layer.find("isolated")->find("sqnr_db")),
                                 decibels(layer.find("cumulative")->find("sqnr_db")), fmt::format("{:.2f}", 100 * number(layer, "clipped")), decision(layer)};
    if (at_outputs) row.insert(row.begin() + 4, layer.find("output") == nullptr ? std::string() : decibels(layer.find("output")->find("sqnr_db")));
    table.add_row(std::move(row));
  }
  std::string text = table.to_string();
  if (order.size() > rows) text += fmt::format("... and {} more integer layers with less damage\n", order.size() - rows);
  return text;
}

std::string coverage_line(const Json& coverage) {
  const auto integer = static_cast<std::int64_t>(number(coverage, "integer")), layers = static_cast<std::int64_t>(number(coverage, "layers"));
  std::string text = fmt::format("{}/{} layers integer", integer, layers);
  const Json::Array& stays = coverage.find("float")->items();
  if (stays.empty()) return text;
  // Details stand in brackets or behind a colon; the page has them.
  std::string reason = word(stays[0], "reason");
  reason = reason.substr(0, std::min(reason.find(" ("), reason.find(": ", kReasonWidth / 2)));
  if (reason.size() > kReasonWidth) reason = reason.substr(0, kReasonWidth - 3) + "...";
  text += fmt::format("; '{}' ({}) stays float: {}", word(stays[0], "name"), word(stays[0], "op"), reason);
  if (stays.size() > 1) text += fmt::format("\n          {} more stay float, the page lists all", stays.size() - 1);
  return text;
}

std::string accuracy_line(const Json& report) {
  const Json& accuracy = *report.find("accuracy");
  const auto samples = static_cast<std::int64_t>(number(accuracy, "samples"));
  if (samples == 0) return "not measured";
  std::string text;
  for (const Json& output : accuracy.find("outputs")->items()) {
    if (!text.empty()) text += "; ";
    const Json* ratio = output.find("sqnr_db");
    const bool numeric = ratio != nullptr && ratio->is_number() && ratio->as_double() > kNoSignal;
    text += fmt::format("output '{}' {}{}, cosine {:.5f}", word(output, "name"), decibels(ratio), numeric ? " dB" : "", number(output, "cosine"));
    if (output.find("lost") != nullptr) text += fmt::format(", NaN or infinite in {} elements", static_cast<std::int64_t>(number(output, "lost")));
    if (output.find("same_argmax") != nullptr) text += fmt::format(", same argmax on {}/{} samples", static_cast<std::int64_t>(number(output, "same_argmax")), samples);
  }
  const std::vector<std::size_t> order = report_by_damage(report);
  if (!order.empty()) {
    const Json& worst = report.find("layers")->items()[order[0]];
    text += fmt::format("\n          worst layer '{}' ({} dB alone", word(worst, "name"), decibels(worst.find("isolated")->find("sqnr_db")));
    if (worst.find("output") != nullptr) text += fmt::format(", {} dB at the outputs", decibels(worst.find("output")->find("sqnr_db")));
    text += ")";
  }
  return text;
}

// "2 samples, at 'logits'"
std::string trial_place(const Json& tried) {
  std::string text = fmt::format("{} samples", static_cast<std::int64_t>(number(tried, "samples")));
  for (const Json& point : tried.find("points")->items()) text += fmt::format(", at '{}'", point.as_string());
  return text;
}

// The advice that was tried and helps, each once.
std::vector<std::string> helpful_advice(const Json::Array& findings) {
  std::vector<std::string> helpful;
  for (const Json& finding : findings) {
    const Json* helps = finding.find("helps");
    const std::string advice = word(finding, "advice");
    if (helps != nullptr && helps->as_bool() && std::find(helpful.begin(), helpful.end(), advice) == helpful.end()) helpful.push_back(advice);
  }
  return helpful;
}

// The findings most worth a try: with what the outputs were measured to have then.
std::string advice_text(const Json& report) {
  std::string text;
  const Json* tried = report.find("tried");
  const Json::Array& findings = report.find("findings")->items();
  std::vector<std::string> shown;
  std::size_t left = 0;
  for (const Json& finding : findings) {
    const Json* brings = finding.find("output_db");
    // The same result to the last bit: these layers share a grid, so that it is the same remedy.
    const std::string remedy = brings != nullptr && brings->is_number() ? exact(brings->as_double()) : word(finding, "advice");
    if (shown.size() == kFindingsShown || std::find(shown.begin(), shown.end(), remedy) != shown.end()) {
      ++left;
      continue;
    }
    shown.push_back(remedy);
    text += fmt::format("{}: {}\n", word(finding, "layer"), word(finding, "why"));
    if (word(finding, "advice").empty()) continue;
    text += fmt::format("  try: in the recipe, layers: [{}]", word(finding, "advice"));
    if (tried != nullptr && brings != nullptr) {
      const Json* found = finding.find("helps");
      const bool helps = found == nullptr || found->as_bool();
      text += fmt::format("   ({}: outputs {} -> {} dB)", helps ? "tried" : "tried, no help", decibels(tried->find("before_db")), decibels(brings));
    }
    text += "\n";
  }
  if (left > 0) text += fmt::format("... and {} more finding{} in the page\n", left, left == 1 ? "" : "s");
  if (tried == nullptr) return findings.empty() ? text : text + "(--try measures what each advice brings at the outputs, --sensitivity 4 what each layer costs there)\n";
  std::vector<std::string> parts;
  if (tried->find("together_db") != nullptr) parts.push_back(fmt::format("{} dB with all that helps together", decibels(tried->find("together_db"))));
  if (tried->find("weights_only_db") != nullptr) parts.push_back(fmt::format("{} dB if nothing but the weights were rounded", decibels(tried->find("weights_only_db"))));
  text += fmt::format("tried on {}: outputs {} dB; {}\n", trial_place(*tried), decibels(tried->find("before_db")), join(parts, "; "));
  if (tried->find("together_db") != nullptr) text += fmt::format("  all that helps: in the recipe, layers: [{}]\n", join(helpful_advice(findings), ", "));
  return text;
}

std::string time_line(const Json& times) {
  std::string text;
  double total = 0;
  for (const Json& time : times.items()) {
    text += fmt::format("{} {}, ", word(time, "phase"), human_seconds(number(time, "seconds")));
    total += number(time, "seconds");
  }
  return text + fmt::format("total {}", human_seconds(total));
}

}  // namespace

std::string decibels(const Json* value) {
  if (value == nullptr || !value->is_number()) return "exact";
  return value->as_double() <= kNoSignal ? "none" : fmt::format("{:.1f}", value->as_double());
}

std::vector<std::size_t> report_by_damage(const Json& report) {
  const Json::Array& layers = report.find("layers")->items();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].find("integer")->as_bool() && !layers[i].find("moves")->as_bool()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto damage = [](const Json& layer) { return std::tuple(sqnr(layer, "output"), sqnr(layer, "isolated"), sqnr(layer, "cumulative")); };
    return damage(layers[a]) < damage(layers[b]);
  });
  return order;
}

std::string summary_text(const Json& report, const SummaryOptions& options) {
  std::string text;
  if (number(*report.find("accuracy"), "samples") > 0 && options.rows > 0) text += layer_table(report, options.rows) + "\n";

  text += advice_text(report);
  const Json::Array& initiative = report.find("initiative")->items();
  for (const Json& line : initiative) text += fmt::format("did: {}\n", line.as_string());
  if (!text.empty()) text += "\n";

  const Json& model = *report.find("model");
  const Json& coverage = *report.find("coverage");
  const Json& size = *report.find("size");
  text += fmt::format("model     {}  {} layers, {} parameters\n", word(model, "file"), static_cast<std::int64_t>(number(coverage, "layers")), count_text(number(model, "parameters")));
  const std::string recipe = word(report, "recipe");
  const auto samples = static_cast<std::int64_t>(number(report, "calibrated_on"));  // 0: a plan came without data
  text += fmt::format("target    {}{}, {}\n", word(report, "target"), recipe.empty() ? "" : " with " + recipe, samples == 0 ? "not calibrated" : "calibrated on " + counted(samples, "sample"));
  text += fmt::format("coverage  {}\n", coverage_line(coverage));
  text += fmt::format("accuracy  {}\n", accuracy_line(report));
  text += fmt::format("size      {} model, {} artifact\n", human_bytes(number(size, "model_bytes")), human_bytes(number(size, "artifact_bytes")));
  text += fmt::format("time      {}\n", time_line(*report.find("times")));
  return text;
}

Result<std::string> comparison_text(const Json& comparison, const std::string& file) {
  NARROW_TRY(verify_comparison(comparison, file));
  const auto db = [](const Json& entry, std::string_view view) {
    const Json* metrics = entry.find(view);
    return metrics == nullptr ? std::string() : decibels(metrics->find("sqnr_db"));
  };
  Table layers({{"layer"}, {"type"}, {"params"}, {"alone dB", Align::kRight}, {"total dB", Align::kRight}, {"clipped %", Align::kRight}});
  for (const Json& layer : comparison.find("layers")->items()) {
    layers.add_row({word(layer, "name"), word(layer, "op"), word(layer, "params"), db(layer, "isolated"), db(layer, "cumulative"), fmt::format("{:.2f}", 100 * number(layer, "clipped"))});
  }
  Table outputs({{"output"}, {"total dB", Align::kRight}, {"cosine", Align::kRight}, {"max |d|", Align::kRight}});
  for (const Json& output : comparison.find("outputs")->items()) {
    outputs.add_row({word(output, "name"), decibels(output.find("sqnr_db")), fmt::format("{:.5f}", number(output, "cosine")), fmt::format("{:.4g}", number(output, "max_abs"))});
  }
  return fmt::format("samples   {}\n", static_cast<std::int64_t>(number(comparison, "samples"))) + layers.to_string() + "\n" + outputs.to_string();
}

}  // namespace narrow
