#include "artifact/artifact.h"

#include <cstring>
#include <filesystem>

#include "artifact/layout.h"
#include "base/file.h"
#include "base/hash.h"
#include "graph/text.h"
#include "run/executor.h"
#include "support.h"

namespace narrow {
namespace {

ArtifactContents sample() {
  ArtifactContents c;
  c.model = "tiny \"model\"";
  c.target = "generic-int8";
  c.arithmetic = "single_round";
  c.target_hash = 1, c.float_graph_hash = 2, c.plan_hash = 0xfedcba9876543210ULL;
  c.recipe = "inputs:\n  - color: rgb\n";
  c.extra["version"] = "0.1";
  c.plan = "plan text\n";
  c.report = "{}";
  c.graph = test::must(parse_graph("graph \"tiny\" in %x: f32[1,4] %y: f32[1,4] = Relu(%x) out %y const %w: i8[9] q(0.5, 0) = rand(1) out %w"));
  return c;
}

// A copy in aligned memory, as a mapping would be.
Result<Artifact> parse(const std::string& bytes) {
  auto memory = std::make_shared<Tensor>(DType::kU8, Shape{static_cast<std::int64_t>(bytes.size())});
  std::memcpy(memory->raw(), bytes.data(), bytes.size());
  const std::span<const std::byte> span(static_cast<const std::byte*>(memory->raw()), bytes.size());
  return parse_artifact(span, "a.narrow", memory);
}

// Recomputes every checksum, as someone would who edits a file on purpose.
void fix_checksums(std::string& bytes) {
  artifact::Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::size_t table_bytes = header.section_count * sizeof(artifact::Entry);
  for (std::size_t i = 0; i < header.section_count; ++i) {
    artifact::Entry e;
    char* at = bytes.data() + sizeof header + i * sizeof e;
    std::memcpy(&e, at, sizeof e);
    if (e.offset <= bytes.size() && e.bytes <= bytes.size() - e.offset) e.checksum = hash_bytes(bytes.data() + e.offset, e.bytes);
    std::memcpy(at, &e, sizeof e);
  }
  header.checksum = hash_text(bytes.substr(0, artifact::kCheckedHeaderBytes) + bytes.substr(sizeof header, table_bytes));
  std::memcpy(bytes.data(), &header, sizeof header);
}

template <typename Fn>
std::string message_after(const Fn& change) {
  std::string bytes = artifact_bytes(sample());
  change(bytes);
  fix_checksums(bytes);
  const auto result = parse(bytes);
  return result ? "" : result.error().message;
}

TEST(Artifact, ReadsWhatWasWritten) {
  const ArtifactContents c = sample();
  const std::string path = test::temporary_folder() + "/a.narrow";
  test::must(write_artifact(path, c));
  const Artifact a = test::must(read_artifact(path));
  EXPECT_EQ(a.contents.model, c.model);
  EXPECT_EQ(a.contents.target, c.target);
  EXPECT_EQ(a.contents.arithmetic, c.arithmetic);
  EXPECT_EQ(a.contents.target_hash, 1U);
  EXPECT_EQ(a.contents.float_graph_hash, 2U);
  EXPECT_EQ(a.contents.plan_hash, c.plan_hash);
  EXPECT_EQ(a.contents.recipe, c.recipe);
  EXPECT_EQ(a.contents.extra, c.extra);
  EXPECT_EQ(a.contents.plan, c.plan);
  EXPECT_EQ(a.contents.report, c.report);
  EXPECT_EQ(a.contents.graph.hash(), c.graph.hash());
  EXPECT_EQ(a.file_bytes, std::filesystem::file_size(path));
  ASSERT_EQ(a.sections.size(), 5U);
  EXPECT_EQ(a.sections.back().name, "WEIGHTS");
  EXPECT_EQ(a.sections.back().offset % 4096, 0U);
  EXPECT_EQ(a.sections.back().bytes, 9U);
  // Reading and writing again changes nothing.
  EXPECT_EQ(artifact_bytes(a.contents), test::must(read_file(path)));
}

TEST(Artifact, ConstantsViewTheFileAndOutliveTheArtifact) {
  const std::string path = test::temporary_folder() + "/a.narrow";
  test::must(write_artifact(path, sample()));
  Graph graph;
  {
    Artifact a = test::must(read_artifact(path));
    graph = std::move(a.contents.graph);
  }
  EXPECT_TRUE(graph.value(graph.find_value("w")).constant.same_bytes(random_constant(DType::kI8, {9}, 1)));
}

TEST(Artifact, SameContentsGiveSameBytes) { EXPECT_EQ(hash_text(artifact_bytes(sample())), hash_text(artifact_bytes(sample()))); }

TEST(Artifact, EveryFlippedByteIsAnError) {
  const std::string good = artifact_bytes(sample());
  ASSERT_TRUE(parse(good).has_value());
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    const auto result = parse(bad);
    ASSERT_FALSE(result.has_value()) << "byte " << i;
    EXPECT_EQ(result.error().message.find("artifact 'a.narrow': "), 0U);
    EXPECT_FALSE(result.error().help.empty());
  }
}

TEST(Artifact, EveryTruncationIsAnError) {
  const std::string good = artifact_bytes(sample());
  for (std::size_t n = 0; n < good.size(); ++n) ASSERT_FALSE(parse(good.substr(0, n)).has_value()) << n << " bytes";
  EXPECT_FALSE(parse(good + '\0').has_value());
}

TEST(Artifact, DamageWithRightChecksumsIsNamed) {
  const auto entry = [](std::string& bytes, std::size_t index) { return reinterpret_cast<artifact::Entry*>(bytes.data() + sizeof(artifact::Header) + index * sizeof(artifact::Entry)); };
  EXPECT_EQ(message_after([](std::string&) {}), "");
  EXPECT_EQ(message_after([&](std::string& b) { std::memcpy(entry(b, 0)->name.data(), "SECRET\0", 8); }), "artifact 'a.narrow': section \"SECRET\" is required and unknown to this reader");
  EXPECT_EQ(message_after([&](std::string& b) { std::memcpy(entry(b, 2)->name.data(), "OTHER\0\0", 8); }), "") << "optional sections may be unknown";
  EXPECT_EQ(message_after([&](std::string& b) { std::memcpy(entry(b, 2)->name.data(), "META\0\0\0", 8); }), "artifact 'a.narrow': section \"META\" stands twice in the file");
  EXPECT_EQ(message_after([&](std::string& b) { entry(b, 1)->offset = entry(b, 0)->offset; }), "artifact 'a.narrow': section \"GRAPH\" lies outside the file or overlaps another");
  EXPECT_EQ(message_after([&](std::string& b) { entry(b, 4)->bytes = ~std::uint64_t{0}; }), "artifact 'a.narrow': section \"WEIGHTS\" lies outside the file or overlaps another");
  EXPECT_EQ(message_after([&](std::string& b) { entry(b, 4)->alignment = 3; }), "artifact 'a.narrow': section \"WEIGHTS\" is not aligned");
  EXPECT_EQ(message_after([&](std::string& b) { b[10] = 2; }), "artifact 'a.narrow': format version 2.0, this reader knows 1.x");
  EXPECT_EQ(message_after([&](std::string& b) { b[40] = 4; }), "artifact 'a.narrow': the file requires the unknown features 0x4");
  const std::string changed = message_after([&](std::string& b) { b[entry(b, 4)->offset] = static_cast<char>(b[entry(b, 4)->offset] ^ 1); });
  EXPECT_EQ(changed.find("artifact 'a.narrow': the graph has hash "), 0U) << changed;
}

TEST(Artifact, UnknownOperatorsAreListed) {
  ArtifactContents c = sample();
  c.graph = test::must(parse_graph("in %x: f32[1] %y: f32[1] = qfuture(%x) out %y"));
  const auto result = parse(artifact_bytes(c));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "artifact 'a.narrow': 1 nodes use operators that this runtime does not have");
  EXPECT_EQ(result.error().notes, (std::vector<std::string>{"node 'y': operator 'qfuture'"}));
}

TEST(Artifact, AFailedWriteLeavesTheOldFile) {
  const std::string folder = test::temporary_folder();
  test::must(write_artifact(folder + "/a.narrow", sample()));
  EXPECT_FALSE(write_artifact(folder + "/missing/a.narrow", sample()).has_value());
  EXPECT_FALSE(write_artifact(folder, sample()).has_value());
  EXPECT_TRUE(read_artifact(folder + "/a.narrow").has_value());
  const auto other = read_artifact("/proc/self/nothing");
  ASSERT_FALSE(other.has_value());
}

// Checksums only say that the file is as it was written.
TEST(Artifact, NetworksThatDoNotFitTheirOperatorsAreRefused) {
  const auto expect = [](const std::string& text, const std::string& message) {
    ArtifactContents c = sample();
    c.graph = test::must(parse_graph(text));
    const auto result = parse(artifact_bytes(c));
    EXPECT_EQ(result ? "accepted" : result.error().message, "artifact 'a.narrow': " + message) << text;
  };
  const std::string in = "graph \"g\" in %x: u8[1,4,4,2] q(0.1, 3) ", out = " out %y", rescale = ", %m: i32[3] = fill(1073741824), %s: i32[3] = fill(40)";
  const auto conv = [&](const std::string& inputs, const std::string& attributes = "pads=[1,1,1,1], x_zero_point=3") {
    return in + "%y: u8[1,4,4,3] q(0.1, 0) = qconv(" + inputs + ") {" + attributes + "}" + out;
  };
  const std::string weights = "%x, %w: i8[3,3,3,2] = rand(1), _";
  expect(conv("%x, %w: i8[3,3,3,4] = rand(1), _" + rescale), "node 'y' (qconv): input has 2 channels, weights [3,3,3,4] in 1 groups want 4");
  expect(conv("%x"), "node 'y' (qconv): the weights are missing");
  expect(conv("_, %w: i8[3,3,3,2] = rand(1), _" + rescale), "node 'y' (qconv): input 0 is missing");
  expect(conv("%x, %w: i16[3,3,3,2] = rand(1), _" + rescale), "node 'y' (qconv): input 1 ('w') is i16, wanted i8");
  expect(conv("%x, %w: i8[3,3,3,2] = rand(1), %b: i32[2] = rand(1)" + rescale), "node 'y' (qconv): input 2 ('b') has 2 elements, wanted 3");
  expect(conv(weights + ", %m: i32[1] = fill(1), %s: i32[1] = fill(40)"), "node 'y' (qconv): input 3 ('m') has 1 elements, wanted 3");
  expect(conv(weights + ", %m: i32[3] = fill(1), %s: i32[3] = fill(63)"), "node 'y' (qconv): 's' holds the shift 63, wanted 1 to 62");
  expect(conv(weights + rescale, "rounding=\"float_rne\""), "node 'y' (qconv): input 5 is missing");
  expect(conv(weights + rescale, "rounding=\"up\""), "node 'y' (qconv): the rounding 'up' is unknown");
  expect(conv(weights + rescale, "pads=\"x\""), "node 'y' (qconv): attribute 'pads' is a string, wanted a list of integers");
  expect(conv(weights + rescale, "pads=[1,1]"), "node 'y' (qconv): pads are [1,1], wanted 4 numbers from 0 to 1048576");
  expect(conv(weights + rescale, "pads=[9223372036854775807,1,1,1]"), "node 'y' (qconv): pads are [9223372036854775807,1,1,1], wanted 4 numbers from 0 to 1048576");
  expect(conv(weights + rescale, "strides=[0,1]"), "node 'y' (qconv): strides are [0,1], wanted 2 numbers from 1 to 1048576");
  expect(conv(weights + rescale, "x_zero_point=256"), "node 'y' (qconv): attribute 'x_zero_point' is 256, wanted 0 to 255");
  expect(conv(weights + rescale, "y_min=9, y_max=8"), "node 'y' (qconv): y_min 9 is above y_max 8");
  expect(conv(weights + rescale, "pads=[0,0,0,0]"), "node 'y' (qconv): 'y' is declared u8[1,4,4,3], the operator gives u8[1,2,2,3]");
  expect(in + "%y: u8[1,4,4,2] q(0.1, 3) = qlut(%x, %t: u8[255] = rand(1))" + out, "node 'y' (qlut): input 1 ('t') has 255 elements, wanted 256");
  expect("graph \"g\" in %x: i16[1,4,4,2] q(0.1, 0) %y: u8[1,4,4,2] q(0.1, 3) = qlut(%x, %t: u8[256] = rand(1))" + out, "node 'y' (qlut): input 1 ('t') has 256 elements, wanted 65536");
  expect(in + "%y: u8[1,4,4,4] q(0.1, 3) = Concat(%x, %x) {axis=-1}" + out, "node 'y' (Concat): axis -1 counts from the end");
  expect(in + "%y: u8[1,4,4,2] q(0.1, 3) = Transpose(%x) {perm=[0,1,2,4]}" + out, "node 'y' (Transpose): perm [0,1,2,4] is no permutation of the 4 axes of shape [1,4,4,2]");
  expect(in + "%y: u8[1,4,4,2] q(0.1, 3) = Slice(%x) {starts=[0,1,0,0], ends=[1,5,4,2], steps=[1,1,1,1]}" + out, "node 'y' (Slice): start 1, end 5 and step 1 do not fit axis 1 of shape [1,4,4,2]");
  expect(in + "%y: u8[1,4,4,2] q(0.1, 3) = Relu(%x)" + out, "node 'y' (Relu): the input is u8, wanted f32");
  expect(in + "%y: u8[1,4,4,2] q(0.1, 3, i16) = Identity(%x)" + out, "'y' is u8, which its scale does not fit");
  expect("graph \"g\" in %x: f32[1,4] %y: f32[1,2] = Gemm(%x, %w: f32[2,4] = rand(1)) {activation=\"Nonsense\"}" + out, "node 'y' (Gemm): the fused activation 'Nonsense' is unknown");
}

}  // namespace
}  // namespace narrow
