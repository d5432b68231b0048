#include "ops/verify_network.h"

#include <filesystem>

#include "base/file.h"
#include "graph/text.h"
#include "ops/parse_network.h"
#include "run/executor.h"
#include "support.h"

namespace narrow {
namespace {

// What the fuzzer starts from is right, and every form of it gives the same codes.
TEST(VerifyNetwork, TheCorpusFitsAndRuns) {
  int networks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_folder() + "/tests/fuzz/corpus/network")) {
    SCOPED_TRACE(entry.path().filename().string());
    const Graph graph = test::must(parse_network(test::must(read_file(entry.path().string())), {.file = entry.path().filename().string()}));
    test::must(verify_network(graph));
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs()) inputs.push_back(random_constant(graph.value(id).dtype, graph.value(id).shape, id.index));
    Executor plain(graph, {.normative = true}), fast(graph);
    const std::vector<Tensor> a = test::must(plain.run(inputs)), b = test::must(fast.run(inputs));
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].dtype() == DType::kF32) EXPECT_LT(test::max_abs_difference(a[i], b[i]), 1e-3);
      else EXPECT_TRUE(a[i].same_bytes(b[i]));
    }
    ++networks;
  }
  EXPECT_GE(networks, 12);
}

TEST(VerifyNetwork, WhatOperatorsReadIsChecked) {
  const auto message = [](const std::string& text) {
    const auto graph = parse_graph(text);
    const Status status = verify_network(test::must(Result<Graph>(graph)));
    return status ? std::string("fits") : status.error().message;
  };
  EXPECT_EQ(message("in %x: f32[2,3] %y: f32[2,3] = Relu(%x) out %y"), "fits");
  EXPECT_EQ(message("in %x: f32[2,3] %y: f32[3,2] = Relu(%x) out %y"), "node 'y' (Relu): 'y' is declared f32[3,2], the operator gives f32[2,3]");
  EXPECT_EQ(message("in %x: f32[2,3] %y: f32[2,3], %z: f32[2,3] = Relu(%x) out %y"), "node 'y' (Relu): it has 2 outputs, wanted 1");
  EXPECT_EQ(message("in %x: i64[2,3] %y: f32[2,3] = Softmax(%x) {axis=1} out %y"), "node 'y' (Softmax): input 0 is i64, wanted f32");
  EXPECT_EQ(message("in %x: f32[2,3] %y: f32[2,3] = Softmax(%x) {axis=1.5} out %y"), "node 'y' (Softmax): attribute 'axis' is a number, wanted an integer");
  EXPECT_EQ(message("in %x: f32[2,3] %y: f32[2,3] = Add(%x, _) out %y"), "node 'y' (Add): input 1 is missing");
  EXPECT_EQ(message("in %x: f32[2,3] %y: f32[2,3] = Frobnicate(%x) out %y"), "node 'y' (Frobnicate): the operator is unknown");
}

}  // namespace
}  // namespace narrow
