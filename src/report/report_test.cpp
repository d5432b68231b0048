// The three forms of a report from one synthetic compilation; the page is opened in a headless browser.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <functional>

#include "base/text.h"
#include "report/html.h"
#include "report/json.h"
#include "report/summary.h"
#include "support.h"

namespace narrow {
namespace {

// x -> Relu a -> Relu b -> Relu c, c stays float; a is hurt most.
struct Synthetic {
  Target target;
  Graph graph, network;
  Stats stats;
  Plan plan;
  Comparison comparison;
  Advice advice;
  std::vector<Diagnostic> diagnostics;

  Synthetic() {
    target.name = "generic-int8";
    graph.name = "synthetic";
    ValueId value = graph.add_input("x", DType::kF32, {1, 4});
    for (const char* name : {"a", "b", "c"}) value = test::must(append_inferred(graph, {.name = name, .op = "Relu", .inputs = {value}, .origin = {std::string("onnx_") + name}}));
    graph.add_output(value);
    network = graph;
    plan.target = target.name;
    stats.samples = 16;
    add("x", 0.1F, 0, 0);
    add("a", 0.01F, -1, 0.2F);
    add("b", 0.05F, 0, 0.002F);
    plan.islands.push_back({"c", "recipe net.yaml:3: keep_float <script>"});
    plan.notes.push_back("widened the scale of 'b' so that its bias fits");
    LayerComparison c{.node = "c", .op = "Relu", .value = "c", .origin = {"onnx_c"}};
    comparison.layers.push_back(c);
    comparison.outputs.push_back({.name = "c", .metrics = {}, .scores = true, .same_argmax = 3});
    comparison.outputs[0].metrics.add(std::vector<float>{1, 2}, std::vector<float>{1, 2.1F});
    comparison.samples = 4;
    advice.findings = find_causes(graph, stats, plan, comparison, {});
    advice.findings[0].output_db = 29.96;
    advice.before_db = 27;
    advice.weights_only_db = 50;
    advice.samples = 2;
    advice.points = {"b"};
    Diagnostics sink;
    sink.warn("data look un-normalised", "divide by 255");
    sink.note("not shown");
    diagnostics = sink.all();
  }

  void add(const std::string& value, float scale, int zero_point, float noise) {
    const QuantParams params = QuantParams::per_tensor(DType::kI8, scale, zero_point);
    plan.activations.push_back({value, params, "default: mse over 16 samples"});
    ValueStats seen;
    seen.value = value;
    seen.min = -1;
    seen.max = 8;
    seen.elements = 1000;
    seen.samples = 16;
    seen.histogram.cover(-1, 8);
    for (int i = 0; i < 9; ++i) seen.histogram.add(std::vector<float>(static_cast<std::size_t>(1 << (9 - i)), static_cast<float>(i) - 0.9F));
    stats.values.push_back(seen);
    if (value == "x") return;
    LayerComparison layer{.node = value, .op = "Relu", .value = value, .origin = {"onnx_" + value}, .integer = true, .params = params};
    layer.isolated.add(std::vector<float>{1, 2}, std::vector<float>{1, 2 + noise});
    layer.cumulative.add(std::vector<float>{1, 2}, std::vector<float>{1, 2 + 2 * noise});
    layer.clipped.add(Tensor::of<float>({4}, {0, 0, 0, 5}), params);
    comparison.layers.push_back(layer);
  }

  Json report() const {
    return report_json({.model = "synthetic.onnx",
                        .target = target,
                        .recipe = "net.yaml",
                        .graph = graph,
                        .stats = stats,
                        .plan = plan,
                        .network = network,
                        .comparison = comparison,
                        .compared_on = "4 samples that calibration did not see",
                        .advice = advice,
                        .data = {"x = raw"},
                        .initiative = {"folded 2 constants"},
                        .diagnostics = diagnostics,
                        .times = {{"import", 0.5}, {"calibrate", 1.25}},
                        .float_bytes = 4000,
                        .artifact_bytes = 1100});
  }
};

TEST(Report, JsonHoldsTheFactsAndReadsBack) {
  const Json report = Synthetic().report();
  const Json again = test::must(parse_json(report.dump(), "report.json"));
  test::must(verify_report(again, "report.json"));
  EXPECT_EQ(again.dump(), report.dump());
  EXPECT_EQ(report.find("worst")->as_string(), "a");
  EXPECT_EQ(report.find("coverage")->find("integer")->as_int(), 2);
  EXPECT_EQ(report.find("coverage")->find("layers")->as_int(), 3);
  const Json& a = report.find("layers")->items()[0];
  EXPECT_NEAR(a.find("isolated")->find("sqnr_db")->as_double(), 10 * std::log10(5 / 0.04), 1e-4);
  EXPECT_DOUBLE_EQ(a.find("clipped")->as_double(), 0.25);
  EXPECT_EQ(a.find("decided_by")->as_string(), "default: mse over 16 samples");
  EXPECT_EQ(report.find("layers")->items()[2].find("decided_by")->as_string(), "stays float: recipe net.yaml:3: keep_float <script>");
  EXPECT_TRUE(report.find("layers")->items()[2].find("isolated")->find("sqnr_db")->is_null());
  std::int64_t counted = 0;
  for (const Json& n : report.find("histograms")->items()[0].find("counts")->items()) counted += n.as_int();
  EXPECT_EQ(counted, 1022);
  EXPECT_EQ(report.find("initiative")->items().size(), 2U);
  EXPECT_EQ(report.find("findings")->items()[0].find("advice")->as_string(), "{match: \"a\", calibration: max}") << "an entry of the recipe's 'layers'";
  EXPECT_EQ(report.find("warnings")->items()[0].as_string(), "data look un-normalised (divide by 255)");
}

TEST(Report, OtherJsonIsRejected) {
  const auto text = [](const Json& json) {
    const Status status = verify_report(json, "x.json");
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(text(Json::object()), "'x.json' is not a narrow report");
  Json other = Synthetic().report();
  other["narrow_report"] = 99;
  EXPECT_EQ(text(other), "report 'x.json' has format 99, this program reads 1");
}

TEST(Report, APlanWithoutDataIsNotCalibrated) {
  Synthetic synthetic;
  synthetic.stats.samples = 0;
  EXPECT_NE(summary_text(synthetic.report()).find("\ntarget    generic-int8 with net.yaml, not calibrated\n"), std::string::npos);
}

// Every node of the tree in turn is left out or becomes something else: it is refused, or whatever is printed from it can be.
void damage_everywhere(Json& node, const std::function<void()>& use) {
  const Json kept = node;
  for (const Json& other : {Json(), Json(true), Json(-1), Json(1e308), Json("text"), Json::array(), Json::object(), Json(Json::Array{Json(), Json(1)})}) {
    node = other;
    use();
  }
  node = kept;
  if (node.is_array()) {
    Json::Array items = node.items();
    for (std::size_t i = 0; i < items.size(); ++i) {
      Json item = items[i];
      const auto put = [&] {
        Json::Array changed = items;
        changed[i] = item;
        node = changed;
        use();
      };
      damage_everywhere(item, put);
    }
  } else if (node.is_object()) {
    const Json::Object members = node.members();
    for (std::size_t i = 0; i < members.size(); ++i) {
      Json::Object fewer = members;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      node = fewer;
      use();
      Json member = members[i].second;
      const auto put = [&] {
        Json::Object changed = members;
        changed[i].second = member;
        node = changed;
        use();
      };
      damage_everywhere(member, put);
    }
  }
  node = kept;
}

TEST(Report, DamagedOnesAreRefusedOrPrinted) {
  int refused = 0, printed = 0;
  Json report = Synthetic().report();
  damage_everywhere(report, [&] {
    if (const Status status = verify_report(report, "x.json"); !status) {
      ++refused;
      return;
    }
    ++printed;
    EXPECT_FALSE(summary_text(report).empty());
    EXPECT_FALSE(report_html(report).empty());
  });
  EXPECT_GT(refused, 100);
  EXPECT_GT(printed, 100);
  Json comparison = comparison_json(Synthetic().comparison);
  damage_everywhere(comparison, [&] { EXPECT_FALSE(comparison_text(comparison, "x.json") && comparison_text(comparison, "x.json")->empty()); });

  report = Synthetic().report();
  report["coverage"]["layers"] = "three";
  EXPECT_EQ(verify_report(report, "x.json").error().message, "in report 'x.json', 'coverage.layers' is a string, wanted a whole number");
  report["coverage"] = Json::object();
  EXPECT_EQ(verify_report(report, "x.json").error().message, "report 'x.json' lacks 'coverage.layers'");
}

TEST(Report, SummaryEndsWithTheSameLines) {
  const std::string text = summary_text(Synthetic().report());
  const std::size_t last = text.find("model     ");
  ASSERT_NE(last, std::string::npos);
  EXPECT_EQ(text.substr(last),
            "model     synthetic.onnx  3 layers, 0 parameters\n"
            "target    generic-int8 with net.yaml, calibrated on 16 samples\n"
            "coverage  2/3 layers integer; 'c' (Relu) stays float: recipe net.yaml:3: keep_float <script>\n"
            "accuracy  output 'c' 27.0 dB, cosine 0.99982, same argmax on 3/4 samples\n"
            "          worst layer 'a' (21.0 dB alone)\n"
            "size      4.0 kB model, 1.1 kB artifact\n"
            "time      import 0.50 s, calibrate 1.25 s, total 1.75 s\n");
  EXPECT_NE(text.find("a: 25.0 % of the values are clipped"), std::string::npos) << text;
  EXPECT_NE(text.find("  try: in the recipe, layers: [{match: \"a\", calibration: max}]   (tried: outputs 27.0 -> 30.0 dB)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("tried on 2 samples, at 'b': outputs 27.0 dB; 50.0 dB if nothing but the weights were rounded\n"), std::string::npos) << text;
  EXPECT_NE(text.find("did: widened the scale of 'b'"), std::string::npos) << text;
  EXPECT_LT(text.find("\na "), text.find("\nb ")) << "worst first\n" << text;
  EXPECT_NE(text.find("25.00  default: mse\n"), std::string::npos) << "the number of samples is the same in every row\n" << text;
}

TEST(Report, NamesDoNotBreakLines) {
  Synthetic synthetic;
  synthetic.comparison.outputs[0].name = "c\nd";
  synthetic.plan.islands[0].reason = "e\nf";
  const std::string text = summary_text(synthetic.report());
  EXPECT_NE(text.find("\naccuracy  output 'c\\nd' 27.0 dB"), std::string::npos) << text;
  EXPECT_NE(text.find("stays float: e\\nf\n"), std::string::npos) << text;
}

TEST(Report, AdviceThatWasTriedInVainIsSaid) {
  Synthetic synthetic;
  synthetic.advice.findings[0].output_db = 27.05;
  const std::string text = summary_text(synthetic.report());
  EXPECT_NE(text.find("calibration: max}]   (tried, no help: outputs 27.0 -> 27.1 dB)\n"), std::string::npos) << text;
}

TEST(Report, AdviceThatHelpsTogetherCanBePasted) {
  Synthetic synthetic;
  Finding other = synthetic.advice.findings[0];
  other.layer = "b";
  other.wishes = {"{match: \"b\", activations: int16}"};
  synthetic.advice.findings.push_back(other);
  other.layer = "c";  // the same remedy again
  synthetic.advice.findings.push_back(other);
  synthetic.advice.together_db = 33;
  const std::string text = summary_text(synthetic.report());
  EXPECT_NE(text.find("\n  all that helps: in the recipe, layers: [{match: \"a\", calibration: max}, {match: \"b\", activations: int16}]\n"), std::string::npos) << text;
}

// Exporters give names like paths; the end of one is kept.
TEST(Report, RowsOfTheTableFitATerminal) {
  Json report = Synthetic().report();
  Json layers = Json::array();
  for (const Json& layer : report.find("layers")->items()) {
    Json copy = layer;
    copy["name"] = "/model/backbone/stages.1/blocks.2/residual/conv_" + layer.find("name")->as_string() + "/Conv_output_of_the_exporter";
    copy["decided_by"] = "constraint: same as '/model/backbone/stages.1/blocks.2/residual/conv'";
    layers.push_back(std::move(copy));
  }
  report["layers"] = std::move(layers);
  const std::string text = summary_text(report);
  std::size_t longest = 0;
  for (const std::string& line : split(text.substr(0, text.find("\n\n")), '\n')) longest = std::max(longest, line.size());
  EXPECT_LE(longest, 120U) << text;
  EXPECT_NE(text.find("a/Conv_output_of_the_exporter"), std::string::npos) << text;
}

std::string run(const std::string& command) {
  std::string output;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), n);
  pclose(pipe);
  return output;
}

TEST(Report, PageIsSelfContained) {
  const std::string page = report_html(Synthetic().report());
  EXPECT_EQ(page.find("@DATA@"), std::string::npos);
  EXPECT_NE(page.find("<title>synthetic.onnx on generic-int8</title>"), std::string::npos);
  EXPECT_EQ(page.find("keep_float <script>"), std::string::npos) << "data must not be able to end or open an element";
  for (const char* outside : {"src=", "href=", "url(", "@import", "fetch("}) EXPECT_EQ(page.find(outside), std::string::npos) << outside;
}

// The page as a browser sees it: every layer has a row, a click on a heading sorts, bars and the chosen range are drawn.
TEST(Report, PageSortsAndDrawsInABrowser) {
  const std::string browser{trim(run("command -v chromium || command -v chromium-browser || command -v google-chrome"))};
  if (browser.empty()) GTEST_SKIP() << "skipped: no chromium (apt-get install chromium)";
  std::string page = report_html(Synthetic().report());
  const std::string check = R"js(<script>
    const names = () => [...document.querySelectorAll("#table tbody tr")].map(row => row.cells[1].textContent).join("");
    const note = (key, value) => document.body.insertAdjacentHTML("beforeend", "<p>CHECK " + key + "=" + value + ";</p>");
    note("first", names());
    document.getElementById("by-total").click(); note("up", names());
    document.getElementById("by-total").click(); note("down", names());
    document.querySelector("#table th:nth-child(2)").click(); note("name", names());
    note("histograms", document.querySelectorAll("svg.histogram").length);
    note("bars", document.querySelectorAll("svg.histogram")[0].querySelectorAll("rect.bar").length);
    note("clippedbars", document.querySelectorAll("svg.histogram")[0].querySelectorAll("rect.out").length);
    note("tall", [...document.querySelectorAll("svg.histogram rect.bar")].every(bar => bar.getBBox().height > 0));
    note("edges", document.querySelectorAll("svg.histogram")[0].querySelectorAll("line.edge").length);
    note("lines", document.querySelectorAll("#depth polyline").length);
    note("drawn", document.documentElement.dataset.drawn);
    const filter = document.getElementById("filter"); filter.value = "ONNX_B"; filter.dispatchEvent(new Event("input"));
    note("filtered", [...document.querySelectorAll("#table tbody tr")].filter(row => !row.hidden).map(row => row.cells[1].textContent).join(""));
    </script>)js";
  page.insert(page.rfind("</body>"), check);
  const std::string folder = test::temporary_folder();
  std::ofstream(folder + "/page.html") << page;
  const std::string dom = run("timeout 60 " + browser + " --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-dev-shm-usage --user-data-dir=" +
                              folder + "/profile --dump-dom file://" + folder + "/page.html 2>/dev/null");
  ASSERT_NE(dom.find("</html>"), std::string::npos) << "the browser did not start";
  for (const char* expected : {"first=abc", "up=abc", "down=cba", "name=abc", "histograms=2", "tall=true", "edges=2", "lines=2", "drawn=yes", "filtered=b"}) {
    EXPECT_NE(dom.find("CHECK " + std::string(expected) + ";"), std::string::npos) << expected << "\n" << dom.substr(dom.find("CHECK") == std::string::npos ? 0 : dom.find("CHECK") - 3);
  }
  // Layer a: grid [-1.27, 1.28], data up to 8, nine values apart: the six beyond 1.28 are drawn as clipped.
  EXPECT_NE(dom.find("CHECK bars=9;"), std::string::npos);
  EXPECT_NE(dom.find("CHECK clippedbars=6;"), std::string::npos);
}

}  // namespace
}  // namespace narrow
