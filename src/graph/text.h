// The text form of a Graph: prints and parses back to itself (same hash). It is what test cases, dumps and artifacts
// hold.
//
//   graph "resnet"
//   in %x: f32[1,8,8,3]
//   const %w: f32[4,3,3,3] = {1, 0.5, ...}            or rand(7), rand(7, -2, 2), fill(0), @4096 (offset in a blob)
//   %y: f32[1,8,8,4] = Conv(%x, %w, _) {pads=[1,1,1,1], alpha=0.5, activation="Relu"} node "conv_1" origin ["Conv_3"]
//   %a, %b: u8[1,8] q(0.5, 3) = Split(%y)
//   out %a
//
// * Names are %word (letters, digits and _ . / -) or %"any text"; strings know the escapes \" \\ \n \t \r \xNN.
// * '#' starts a comment; line breaks are blanks. Every name must be defined above its first use.
// * `node` defaults to the name of the first output. `_` is an absent optional input. A constant may also be declared
//   where it is used: Conv(%x, %w: f32[4,3,3,3] = rand(1)).
// * Attributes: 3 is an integer, 3.0 a float, "..." a string, [1,2] integers, [1.0,2.0] floats, floats[] no floats.
// * q(scale, zero_point) or q([..], [..], axis=0), with bits=4 and narrow where they differ from the default.
// * The type of a node's output may be left out when ParseOptions::infer is given.
// * rand(seed): element i is made from splitmix64(seed * 2^32 + i): floats in [-1, 1); 8- and 16-bit integers over their
//   whole range; wider ones in [-100, 100]. rand(seed, lo, hi): floats in [lo, hi), integers in [lo, hi].
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "graph/graph.h"

namespace narrow {

struct PrintOptions {
  // Constants with more elements go to the blob, or are elided: "elided(HASH)", which does not parse back.
  std::int64_t max_inline_elements = INT64_MAX;
  std::string* blob = nullptr;  // data are appended, each tensor at a multiple of 64; equal tensors are stored once
};
std::string print_graph(const Graph& graph, const PrintOptions& options = {});

struct ParseOptions {
  std::string file = "graph";                  // for messages
  std::span<const std::byte> blob = {};        // what @offset refers to; constants view it
  std::shared_ptr<const void> keep_alive = {}; // owner of the blob
  bool elided = false;                         // take zeros for data that were not printed, instead of an error
  // Called for every node as soon as it is appended; `typed` says that the text gave all of its output types. Sets what
  // is missing and may refuse the node. Without it, missing types are errors.
  std::function<Status(Graph& graph, NodeId node, bool typed)> infer = {};
};
// Errors carry line, column and the line itself. The result satisfies verify().
Result<Graph> parse_graph(std::string_view text, const ParseOptions& options = {});

// The generator behind rand(seed, lo, hi).
Tensor random_constant(DType dtype, const Shape& shape, std::uint64_t seed);
Tensor random_constant(DType dtype, const Shape& shape, std::uint64_t seed, double lo, double hi);

}  // namespace narrow
