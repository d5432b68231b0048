#include "compile/compile.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "calibrate/calibrate.h"
#include "compile/path.h"
#include "compile/products.h"
#include "data/dataset.h"
#include "data/input_check.h"
#include "data/sample_stream.h"
#include "lower/lower.h"
#include "measure/trials.h"
#include "model/import.h"
#include "report/json.h"

namespace narrow {
namespace {


Status check_options(const CompileOptions& options) {
  const std::vector<std::string> phases(kPhases.begin(), kPhases.end());
  if (!options.stop_after.empty() && std::find(phases.begin(), phases.end(), options.stop_after) == phases.end()) {
    return error("unknown phase '{}' to stop after, wanted one of {}", options.stop_after, join(phases, ", "))
        .with_help(did_you_mean(options.stop_after, phases))
        .with_exit_code(ExitCode::kUsage);
  }
  const bool before_data = options.stop_after == "import" || options.stop_after == "simplify";
  if (options.data.empty() && options.stats.empty() && options.plan.empty() && !before_data) {
    return error("no calibration data given").with_help("--data FOLDER of images, .npy, .npz or raw files; some 64 typical samples without labels are enough").with_exit_code(ExitCode::kUsage);
  }
  if (!options.dump_dir.empty()) {
    std::error_code code;
    std::filesystem::create_directories(options.dump_dir, code);
    if (code) return error("cannot dump to '{}': {}", options.dump_dir, code.message()).with_help("choose another folder with --dump-dir");
  }
  if (options.try_advice && !options.plan.empty()) return error("--try cannot be used with --plan: advice is for a recipe").with_help("leave --plan out").with_exit_code(ExitCode::kUsage);
  if (options.try_advice) NARROW_TRY(check_compares(options, "--try"));
  if (options.sensitivity_samples > 0) NARROW_TRY(check_compares(options, "--sensitivity"));
  if (options.output.empty()) return {};
  return check_products_writable(options.output, std::vector<std::string>{options.model, options.recipe, options.target, options.plan, options.stats});
}

// Recipe, target, and a plan that is there already: then the recipe's say in it is over.
Status read_wishes(const CompileOptions& options, CompileResult& result, std::optional<Plan>& given) {
  if (!options.recipe.empty()) {
    result.recipe = NARROW_TRY(load_recipe(options.recipe));
    result.recipe_text = NARROW_TRY(read_file(options.recipe));
  }
  if (options.samples > 0) result.recipe.samples = options.samples;
  if (!options.plan.empty()) {
    given = NARROW_TRY(Plan::from_text(NARROW_TRY(read_file(options.plan)), options.plan));
    if (const std::vector<std::string> dropped = result.recipe.drop_decisions(); !dropped.empty()) {
      result.diagnostics.warn(fmt::format("the plan '{}' decides, so that '{}' of the recipe '{}' {} no effect", options.plan, join(dropped, "', '"), options.recipe, dropped.size() == 1 ? "has" : "have"), "edit the plan, or leave --plan out");
    }
  }
  const std::string& wanted = !options.target.empty() ? options.target : result.recipe.target;
  if (wanted.empty() && given) result.target = NARROW_TRY(target_of(*given));
  else result.target = NARROW_TRY(load_target(wanted.empty() ? kDefaultTarget : wanted));
  return {};
}

// How files become inputs and what these look like, before minutes are spent on them.
Status look_at(const Dataset& dataset, CompileResult& result) {
  const std::vector<InputStatistics> seen = NARROW_TRY(measure_inputs(dataset, result.graph, result.recipe));
  check_inputs(seen, result.graph, result.recipe, result.diagnostics);
  result.data = describe_inputs(dataset, seen);
  return {};
}

// Statistics of this graph: of an earlier run, or none when a plan is given and there are no data, or from the data.
Result<Stats> statistics(const CompileOptions& options, const CompileResult& result, const Dataset* dataset, Progress& progress, Diagnostics& diagnostics) {
  if (!options.stats.empty()) return load_stats(options.stats, result.graph);
  if (dataset == nullptr) {
    Stats none;
    none.graph_hash = result.graph.hash();
    return none;
  }
  const std::vector<ValueId> sites = quantizer_sites(result.graph, result.recipe, result.target);
  return calibrate(result.graph, sites, *dataset, {.limit = result.recipe.samples, .progress = &progress, .diagnostics = &diagnostics});
}

// "64 samples", "the first 128 of 588 samples".
std::string which_samples(std::int64_t run, const Dataset* dataset, std::int64_t most) {
  return dataset != nullptr && dataset->size() > most ? fmt::format("the first {} of {} samples", run, dataset->size()) : fmt::format("{} samples", run);
}

// Samples that calibration did not see, when there are any.
Result<Comparison> compare(const CompileOptions& options, CompileResult& result, const Dataset* dataset, Progress& progress) {
  if (dataset == nullptr || options.compare_samples <= 0) {
    result.compared_on = "nothing (no data)";
    return Comparison{};
  }
  const std::int64_t samples = std::max(options.compare_samples, options.sensitivity_samples);
  const bool fresh = dataset->size() - result.recipe.samples >= samples && any_readable(*dataset, result.recipe.samples);
  const CompareOptions which{.first = fresh ? result.recipe.samples : 0, .samples = samples, .output_samples = options.sensitivity_samples, .diagnostics = &result.diagnostics};
  Comparison comparison = NARROW_TRY(compare_layers(result.graph, result.network, *dataset, which, progress));
  report_lost(result.graph, comparison, result.diagnostics);
  result.compared_on = fmt::format("{} samples that calibration {}", comparison.samples, fresh ? "did not see" : "saw as well");
  return comparison;
}

// Why the damaged layers are damaged and, on request, which of the remedies help.
Result<Advice> advise(const CompileOptions& options, const CompileResult& result, const Dataset* dataset) {
  Advice advice;
  const std::vector<std::string> damaged = damaged_layers(result.comparison);
  if (damaged.empty()) return advice;
  std::vector<Sample> samples;
  const std::int64_t wanted = options.try_advice ? trial_samples(result.graph) : 1;
  const std::int64_t first = dataset->size() > result.recipe.samples && any_readable(*dataset, result.recipe.samples) ? result.recipe.samples : 0;
  for (SampleStream stream(*dataset, first, dataset->size()); !stream.done() && std::ssize(samples) < wanted;) {
    if (Result<Sample> sample = stream.next()) samples.push_back(std::move(*sample));
  }
  const SourcesByLayer sources = NARROW_TRY(measure_sources(result.graph, result.plan, damaged, std::span(samples).first(std::min<std::size_t>(samples.size(), 1))));
  advice.findings = find_causes(result.graph, result.stats, result.plan, result.comparison, sources);
  if (options.try_advice && !samples.empty()) {
    const Trials trials = NARROW_TRY(Trials::begin(result.graph, result.stats, result.recipe, result.target, samples));
    NARROW_TRY(try_out(advice, trials, result.network, result.plan));
  }
  return advice;
}

Json tell(const CompileOptions& options, const CompileResult& result, const Progress& progress, std::uint64_t artifact_bytes) {
  std::error_code none;
  const std::uintmax_t model_bytes = std::filesystem::file_size(options.model, none);
  return report_json({.model = std::filesystem::path(options.model).filename().string(),
                      .target = result.target,
                      .recipe = std::filesystem::path(options.recipe).filename().string(),
                      .graph = result.graph,
                      .stats = result.stats,
                      .plan = result.plan,
                      .network = result.network,
                      .comparison = result.comparison,
                      .compared_on = result.compared_on,
                      .advice = result.advice,
                      .data = result.data,
                      .initiative = {"simplified the graph: " + Path::describe(result.passes)},
                      .diagnostics = result.diagnostics.all(),
                      .times = progress.times(),
                      .float_bytes = none ? 0 : model_bytes,
                      .artifact_bytes = artifact_bytes});
}

std::string describe(const Comparison& comparison, const CompileResult& result) {
  if (comparison.samples == 0) return "skipped: no data";
  return fmt::format("output {:.1f} dB on {}", comparison.lowest_output_sqnr(), result.compared_on);
}

// Of a compilation that stopped after `phase`: the keys of the report without those that later phases would have filled.
Json known_after(const std::string& phase, const Json& report) {
  constexpr std::pair<std::string_view, std::string_view> kSince[] = {
      {"model", "import"}, {"target", "import"}, {"recipe", "import"}, {"initiative", "simplify"}, {"calibrated_on", "calibrate"}, {"data", "calibrate"}, {"coverage", "plan"}, {"accuracy", "compare"},
      {"layers", "compare"}, {"worst", "compare"}, {"histograms", "compare"}, {"findings", "compare"}, {"tried", "compare"}, {"warnings", "import"}, {"times", "import"}};
  const auto number = [](std::string_view name) { return std::find(kPhases.begin(), kPhases.end(), name); };
  Json known = Json::object();
  known["stopped_after"] = phase;
  for (const auto& [key, since] : kSince) {
    const Json* value = report.find(key);
    if (value != nullptr && number(since) <= number(phase)) known[key] = *value;
  }
  return known;
}

Status go(const CompileOptions& options, Progress& progress, CompileResult& result) {
  NARROW_TRY(check_options(options));
  std::optional<Plan> given;
  NARROW_TRY(read_wishes(options, result, given));
  Path path(options, progress);

  result.graph = NARROW_TRY(import_onnx(options.model, {.input_shapes = options.input_shapes}, result.diagnostics));
  tell_quantized(result.graph, result.diagnostics);
  if (NARROW_TRY(path.done(Path::describe(result.graph), "graph", [&] { return Path::print(result.graph); }))) return {};

  result.passes = NARROW_TRY(run_passes(result.graph, {.disabled = options.disabled_passes}));
  if (NARROW_TRY(path.done(Path::describe(result.passes), "graph", [&] { return Path::print(result.graph); }))) return {};

  if (given) NARROW_TRY(accept_plan(*given, result.graph, result.target, result.diagnostics));  // before any data are read
  std::unique_ptr<Dataset> dataset;
  if (!options.data.empty()) dataset = NARROW_TRY(open_dataset({.paths = options.data}, result.graph, result.recipe));
  if (dataset && !options.output.empty()) NARROW_TRY(check_products_apart(options.output, dataset->files()));
  if (dataset) NARROW_TRY(look_at(*dataset, result));
  for (const std::string& line : result.data) progress.say(line);
  result.stats = NARROW_TRY(statistics(options, result, dataset.get(), progress, result.diagnostics));
  if (NARROW_TRY(path.done(fmt::format("{}, {} values", which_samples(result.stats.samples, options.stats.empty() ? dataset.get() : nullptr, result.recipe.samples), result.stats.values.size()), "stats",
                           [&] { return result.stats.to_json().dump(-1); }))) return {};

  result.plan = given ? *given : NARROW_TRY(make_plan(result.graph, result.stats, result.recipe, result.target, result.diagnostics));
  if (NARROW_TRY(path.done(fmt::format("{} activations, {} constants, {} float islands", result.plan.activations.size(), result.plan.constants.size(), result.plan.islands.size()),
                           "plan", [&] { return result.plan.to_text(); }))) return {};

  result.network = NARROW_TRY(lower(result.graph, result.plan, result.target));
  if (NARROW_TRY(path.done(Path::describe(result.network), "graph", [&] { return Path::print(result.network); }))) return {};

  result.comparison = NARROW_TRY(compare(options, result, dataset.get(), progress));
  result.advice = NARROW_TRY(advise(options, result, dataset.get()));
  if (NARROW_TRY(path.done(describe(result.comparison, result), "json", [&] { return comparison_json(result.comparison).dump(); }))) return {};

  NARROW_TRY(check_cancelled());
  result.report = tell(options, result, progress, 0);
  const std::string artifact = pack(result, std::filesystem::path(options.model).stem().string());
  result.report = tell(options, result, progress, artifact.size());
  if (!options.output.empty()) NARROW_TRY(write_products(result, artifact, options.output));
  NARROW_TRY(path.done(options.output.empty() ? human_bytes(static_cast<double>(artifact.size())) : product_paths(options.output).artifact));
  return {};
}

}  // namespace

Status check_compares(const CompileOptions& options, std::string_view option) {
  const std::string& last = options.stop_after;
  const bool early = !last.empty() && last != "compare" && last != "pack";
  if (!early && options.compare_samples > 0 && !options.data.empty()) return {};
  return error("{} needs a comparison, and nothing would be compared", option)
      .with_help(early ? fmt::format("leave --stop-after {} out", last) : "give --data, and --compare-samples of at least 1")
      .with_exit_code(ExitCode::kUsage);
}

Result<Graph> load_float_graph(const std::string& model, const ImportOptions& options, Diagnostics& diagnostics) {
  Graph graph = NARROW_TRY(import_onnx(model, options, diagnostics));
  NARROW_TRY(run_passes(graph));
  return graph;
}

Result<CompileResult> compile(const CompileOptions& options, Progress& progress) {
  CompileResult result;
  NARROW_TRY(go(options, progress, result));
  if (result.report.is_null()) result.report = known_after(options.stop_after, tell(options, result, progress, 0));
  return result;
}

}  // namespace narrow
