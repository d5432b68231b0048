// The only file that sees CLI11: names, help and examples of every command and option.
#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/text.h"
#include "passes/passes.h"

namespace narrow::cli {
namespace {

constexpr const char* kVersion = "narrow 0.1.0";

// What the flags are parsed into before they become typed.
struct Raw {
  std::vector<std::string> gates, shapes;
  std::optional<std::int64_t> label_offset;
};

CLI::Validator whole_number(std::int64_t lowest, std::int64_t highest = INT64_MAX) {
  return CLI::Validator(
      [=](const std::string& text) {
        std::int64_t value = 0;
        const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (code == std::errc() && end == text.data() + text.size() && value >= lowest && value <= highest) return std::string();
        return fmt::format("found '{}', wanted a whole number {}", text, highest == INT64_MAX ? fmt::format("of at least {}", lowest) : fmt::format("from {} to {}", lowest, highest));
      },
      "");
}

// An unset variable of a shell script must not pass for an option that was not given.
std::string refuse_empty(const std::string& text) { return text.empty() ? "the value is empty" : std::string(); }

void add_common(CLI::App* app, Common& common) {
  app->add_flag("--json", common.json, "print the result as JSON");
  app->add_flag("-q,--quiet", common.quiet, "no progress and no notes on stderr");
  app->add_flag("-v,--verbose", common.verbose, "all rows of tables, and notes");
  app->add_option("--threads", common.threads, "threads to use (default: all)")->check(whole_number(1, 256));
}

void add_data(CLI::App* app, DataChoice& data, bool required) {
  CLI::Option* paths = app->add_option("--data,--input", data.paths, "images, .npy, .npz, raw files, a folder or a .txt list; INPUT=PATH for several inputs");
  if (required) paths->required();
  app->add_option("-c,--recipe", data.recipe, "how files become inputs (default: what the artifact was compiled with)");
  app->add_option("--first", data.first, "skip this many samples")->check(whole_number(0));
  app->add_option("--samples", data.samples, "use at most this many samples")->check(whole_number(1));
}

std::string pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : all_passes()) names.emplace_back(pass.name);
  return join(names, ", ");
}

void add_target(CLI::App* app, std::string& target, const std::string& otherwise) {
  app->add_option("--target", target, "name or file of the target: what the hardware can do (see `narrow targets`; default: " + otherwise + ")");
}

void add_sensitivity(CLI::App* app, std::int64_t& samples) {
  app->add_option("--sensitivity", samples, "on this many samples, also measure what every layer alone costs at the outputs (one float run per layer)")->check(whole_number(0));
}

void add_comparison_gates(CLI::App* app, Raw& raw) {
  app->add_option("--min-metric", raw.gates, "NAME=NUMBER, NAME one of sqnr, cosine, agreement: exit code 3 when an output is worse");
}

void add_shapes(CLI::App* app, Raw& raw) {
  app->add_option("--input-shape", raw.shapes, "NAME=1x3x224x224: extents that the model leaves open");
}

Result<std::map<std::string, Shape>> parse_shapes(const Raw& raw) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : raw.shapes) {
    const std::size_t equal = text.rfind('=');
    Shape shape;
    if (equal != std::string::npos) {
      for (const std::string& part : split(std::string_view(text).substr(equal + 1), 'x')) {
        std::int64_t extent = 0;
        const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), extent);
        if (code != std::errc() || end != part.data() + part.size() || extent <= 0) {
          shape.clear();
          break;
        }
        shape.push_back(extent);
      }
    }
    if (shape.empty()) return error("--input-shape '{}' is not of the form NAME=1x3x224x224", text).with_exit_code(ExitCode::kUsage);
    shapes[text.substr(0, equal)] = shape;
  }
  return shapes;
}

Result<std::vector<Gate>> parse_gates(const Raw& raw) {
  std::vector<Gate> gates;
  for (const std::string& text : raw.gates) {
    const std::size_t equal = text.find('=');
    Gate gate{.metric = text.substr(0, equal)};
    const std::string number = equal == std::string::npos ? std::string() : text.substr(equal + 1);
    const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), gate.at_least);
    if (gate.metric.empty() || number.empty() || code != std::errc() || end != number.data() + number.size() || std::isnan(gate.at_least)) {
      return error("--min-metric '{}' is not of the form NAME=NUMBER", text).with_help("for example --min-metric sqnr=30").with_exit_code(ExitCode::kUsage);
    }
    gates.push_back(gate);
  }
  return gates;
}

ErrorBuilder usage(const std::string& message) {
  Error e;
  e.message = message;
  e.exit_code = ExitCode::kUsage;
  return ErrorBuilder(std::move(e));
}

std::vector<std::string> option_names(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

Result<std::optional<Command>> parse_command_line(int argc, const char* const* argv) {
  CLI::App app{"narrow: turns trained float networks into verified integer networks", "narrow"};
  app.set_version_flag("--version", kVersion);
  app.footer("`narrow COMMAND --help` shows options and examples.\nExit codes: 0 ok, 1 input rejected, 2 usage, 3 accuracy gate failed, 70 internal error, 128 + signal when interrupted (130: Ctrl-C).");
  app.require_subcommand(1);
  Raw raw;

  CompileCommand compile;
  CompileOptions& c = compile.options;
  CLI::App* compile_app = app.add_subcommand("compile", "the main job: float model -> integer network, QDQ model, plan and report");
  compile_app->add_option("model", c.model, "ONNX file")->required();
  compile_app->add_option("--data", c.data, "calibration samples: images, .npy, .npz, raw files, a folder or a .txt list; INPUT=PATH for several inputs");
  compile_app->add_option("-c,--recipe", c.recipe, "YAML: how files become inputs, and wishes per layer");
  add_target(compile_app, c.target, "as the recipe or the plan says, else generic-int8");
  compile_app->add_option("--samples", c.samples, "calibrate on at most this many samples (default: as the recipe says, else 128)")->check(whole_number(1));
  compile_app->add_option("--compare-samples", c.compare_samples, "samples measured layer by layer afterwards; 0: none")->check(whole_number(0))->capture_default_str();
  add_sensitivity(compile_app, c.sensitivity_samples);
  compile_app->add_flag("--try", c.try_advice, "try every advice out and say what it brings at the outputs");
  compile_app->add_option("-o,--output", c.output, "OUT of OUT.narrow, OUT.qdq.onnx, OUT.plan, OUT.report.json, OUT.html");
  compile_app->add_option("--plan", c.plan, "take this (edited) plan instead of making one");
  compile_app->add_option("--stats", c.stats, "take the statistics of an earlier run (3-calibrate.stats of --dump-dir) instead of calibrating");
  compile_app->add_option("--stop-after", c.stop_after, "phase: " + join({kPhases.begin(), kPhases.end()}, ", "));
  compile_app->add_option("--dump-dir", c.dump_dir, "write what every phase made into this folder");
  compile_app->add_option("--disable-pass", c.disabled_passes, "leave a pass of the simplification out: " + pass_names());
  add_comparison_gates(compile_app, raw);
  add_shapes(compile_app, raw);
  compile_app->footer("examples:\n  narrow compile net.onnx --data images/ -c net.yaml -o net\n  narrow compile net.onnx --plan net.plan --data images/ -o net2     after editing net.plan\n  narrow compile net.onnx --data images/ -c net.yaml --try --sensitivity 4       where the accuracy goes, and what helps");
  add_common(compile_app, compile.common);

  CheckCommand check;
  CLI::App* check_app = app.add_subcommand("check", "what would run in integers, what would stay float, and why");
  check_app->add_option("model", check.model, "ONNX file")->required();
  add_target(check_app, check.target, "as the recipe says, else generic-int8");
  check_app->add_option("-c,--recipe", check.recipe, "YAML with wishes per layer");
  add_shapes(check_app, raw);
  check_app->footer("example:\n  narrow check net.onnx --target generic-int8");
  add_common(check_app, check.common);

  RunCommand run;
  CLI::App* run_app = app.add_subcommand("run", "run a model or an artifact on samples");
  run_app->add_option("network", run.network, "ONNX file or artifact")->required();
  run_app->add_option("--mode", run.mode, "float, fake (quantize-dequantize) or int; default: float for a model, int for an artifact")->check(CLI::IsMember({"float", "fake", "int"}));
  run_app->add_option("--plan", run.plan, "plan for modes fake and int of a model");
  add_target(run_app, run.target, "as the plan says; for mode int of a model");
  run_app->add_option("-o,--output", run.output, ".npy (one output) or .npz (all outputs, by name): the outputs of the samples in order along a first axis, which takes the place of a first extent of 1. A sample that cannot be read is named on stderr and has no row");
  add_data(run_app, run.data, true);
  add_shapes(run_app, raw);
  run_app->footer("examples:\n  narrow run net.narrow --input cat.jpg\n  narrow run net.onnx --mode fake --plan net.plan -c net.yaml --data images/ -o out.npz");
  add_common(run_app, run.common);

  EvalCommand eval;
  CLI::App* eval_app = app.add_subcommand("eval", "accuracy on labelled data, the networks side by side");
  eval_app->add_option("networks", eval.networks, "ONNX files and artifacts")->required();
  eval_app->add_option("--labels", eval.labels, "classify: .npy of integers or a list of lines FILE LABEL; detect: a folder of VOC annotations; anomaly: a list of lines FILE LABEL, 0 for normal; read: a list of lines FILE TEXT (default: what the first of two networks answers)");
  eval_app->add_option("--task", eval.task, "classify, detect, anomaly or read (default: as the recipe says)");
  eval_app->add_option("--decoder", eval.decoder, "detect: layout of the outputs, yolox, fastestdet or ssd (default: as the recipe says)");
  eval_app->add_option("--dictionary", eval.dictionary, "read: file of the characters, one a line in the order of the classes (default: as the recipe says)");
  eval_app->add_option("--label-offset", raw.label_offset, "class = argmax + offset (default: as the recipe says)");
  eval_app->add_option("--min-metric", raw.gates, "NAME=NUMBER, for example top-1=90: exit code 3 when the last network is worse");
  add_data(eval_app, eval.data, true);
  add_shapes(eval_app, raw);
  eval_app->footer("example:\n  narrow eval net.onnx net.narrow --data test.npy --labels labels.npy");
  add_common(eval_app, eval.common);

  CompareCommand compare;
  CLI::App* compare_app = app.add_subcommand("compare", "layer by layer and output by output");
  compare_app->add_option("first", compare.first, "ONNX file or artifact: the reference")->required();
  compare_app->add_option("second", compare.second, "ONNX file or artifact")->required();
  add_sensitivity(compare_app, compare.sensitivity);
  compare_app->add_flag("--exact", compare.exact, "outputs must be equal bit for bit, else exit code 3");
  add_comparison_gates(compare_app, raw);
  add_data(compare_app, compare.data, true);
  add_shapes(compare_app, raw);
  compare_app->footer("examples:\n  narrow compare net.onnx net.narrow --data images/ --samples 8\n  narrow compare old.narrow new.narrow --exact --data images/");
  add_common(compare_app, compare.common);

  InspectCommand inspect;
  CLI::App* inspect_app = app.add_subcommand("inspect", "what is in a file: model, artifact, plan, statistics, report, comparison, target, recipe, graph, array");
  inspect_app->add_option("file", inspect.file, "any file that narrow reads or writes, or OUT")->required();
  inspect_app->add_flag("--layers", inspect.layers, "list every layer");
  inspect_app->footer("example:\n  narrow inspect net.onnx --layers");
  add_common(inspect_app, inspect.common);

  ExplainCommand explain;
  CLI::App* explain_app = app.add_subcommand("explain", "who decided these numbers");
  explain_app->add_option("file", explain.file, "artifact, plan or OUT")->required();
  explain_app->add_option("layer", explain.layer, "name or pattern of a layer or value");
  explain_app->footer("example:\n  narrow explain net.narrow 'conv_1*'");
  add_common(explain_app, explain.common);

  ReportCommand report;
  CLI::App* report_app = app.add_subcommand("report", "one self-contained HTML page");
  report_app->add_option("file", report.file, "artifact, OUT.report.json or OUT")->required();
  report_app->add_option("-o,--output", report.output, "HTML file (default: beside the input)");
  report_app->footer("example:\n  narrow report net.narrow -o net.html");
  add_common(report_app, report.common);

  OpsCommand ops;
  CLI::App* ops_app = app.add_subcommand("ops", "operators that are understood");
  add_common(ops_app, ops.common);
  TargetsCommand targets;
  CLI::App* targets_app = app.add_subcommand("targets", "targets that are known: what hardware can do");
  add_common(targets_app, targets.common);

  std::vector<std::string> commands;
  bool named = false;
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) {
    commands.push_back(sub->get_name());
    named = named || std::any_of(argv, argv + argc, [&](const char* word) { return sub->get_name() == word; });
    for (CLI::Option* option : sub->get_options([](const CLI::Option* o) { return o->get_expected_max() > 0; })) option->check(CLI::Validator(refuse_empty, ""));
  }
  const bool asks = std::any_of(argv, argv + argc, [](const std::string& word) { return word == "--help" || word == "-h" || word == "--version"; });
  if (!named && !asks && (argc < 2 || argv[1][0] == '-')) return usage("no command given").with_help(fmt::format("one of: {}; `narrow --help` says more", join(commands, ", ")));
  const std::string first = argv[1];
  if (!first.starts_with("-") && std::find(commands.begin(), commands.end(), first) == commands.end()) {
    const std::string near = did_you_mean(first, commands);
    return usage(fmt::format("unknown command '{}'", first)).with_help(near.empty() ? fmt::format("one of: {}", join(commands, ", ")) : near);
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const std::vector<CLI::App*> used = app.get_subcommands();
    std::string help = used.empty() ? app.help() : used[0]->help("narrow");
    if (!help.ends_with("\n")) help += '\n';
    fmt::print("{}", help);
    return std::optional<Command>();
  } catch (const CLI::CallForVersion&) {
    fmt::print("{}\n", kVersion);
    return std::optional<Command>();
  } catch (const CLI::ExtrasError& extras) {
    const std::vector<CLI::App*> used = app.get_subcommands();
    const CLI::App* sub = used.empty() ? &app : used[0];
    std::vector<std::string> unknown = sub->remaining();
    if (unknown.empty()) unknown = app.remaining();
    if (unknown.empty()) return usage(extras.what());
    const std::string name = unknown[0].substr(0, unknown[0].find('='));
    if (!name.starts_with("-")) return usage(fmt::format("unexpected argument '{}' of `narrow {}`", name, sub->get_name())).with_help(fmt::format("`narrow {} --help` shows what it takes", sub->get_name()));
    const std::string near = did_you_mean(name, option_names(sub));
    return usage(fmt::format("unknown option '{}' of `narrow {}`", name, sub->get_name()))
        .with_help(near.empty() ? fmt::format("`narrow {} --help` lists all options", sub->get_name()) : near);
  } catch (const CLI::ParseError& problem) {
    const std::vector<CLI::App*> used = app.get_subcommands();
    std::string message = problem.what();
    while (message.ends_with("\n")) message.pop_back();
    return usage(message).with_help(used.empty() ? std::string("`narrow --help`") : fmt::format("`narrow {} --help` shows options and examples", used[0]->get_name()));
  }

  const std::map<std::string, Shape> shapes = NARROW_TRY(parse_shapes(raw));
  const std::vector<Gate> gates = NARROW_TRY(parse_gates(raw));
  compile.options.input_shapes = check.shapes = run.shapes = eval.shapes = compare.shapes = shapes;
  compile.gates = eval.gates = compare.gates = gates;
  eval.label_offset = raw.label_offset;
  if (*compile_app) return Command(compile);
  if (*check_app) return Command(check);
  if (*run_app) return Command(run);
  if (*eval_app) return Command(eval);
  if (*compare_app) return Command(compare);
  if (*inspect_app) return Command(inspect);
  if (*explain_app) return Command(explain);
  if (*report_app) return Command(report);
  if (*ops_app) return Command(ops);
  return Command(targets);
}

}  // namespace narrow::cli
