// The finished product in one file (.narrow): integer network, weights, plan, provenance. Little-endian, checksummed,
// mapped into memory: constants of a read graph view the file. artifact/FORMAT.md is normative. Part of the embeddable
// runtime: needs neither JSON nor YAML.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"

namespace narrow {

struct ArtifactContents {
  std::string model;                  // name for people
  std::string target;
  std::string arithmetic;             // rounding mode of the target, e.g. "single_round"
  std::uint64_t target_hash = 0;      // what it was made from
  std::uint64_t float_graph_hash = 0;
  std::uint64_t plan_hash = 0;
  std::string recipe;                 // narrow's own YAML: how an image becomes an input
  std::map<std::string, std::string> extra;  // further keys of META, kept as they are
  std::string plan;                   // Plan::to_text(); may be empty
  std::string report;                 // JSON; may be empty
  Graph graph;                        // the integer network
};

struct ArtifactSection {
  std::string name;
  std::uint64_t offset = 0, bytes = 0;
  std::uint64_t hash = 0;             // XXH3-64 of the bytes
};

struct Artifact {
  ArtifactContents contents;
  std::vector<ArtifactSection> sections;  // in file order
  std::uint64_t file_bytes = 0;
  std::uint64_t hash = 0;             // of header and section table, and thereby of everything
};

// The same contents give the same bytes. The old file stays when writing fails.
Status write_artifact(const std::string& path, const ArtifactContents& contents);
std::string artifact_bytes(const ArtifactContents& contents);

// Every checksum, offset, name and the graph's own hash are checked; what is damaged or unknown but required is named
// in the error.
Result<Artifact> read_artifact(const std::string& path);
// The same from memory aligned to 64 bytes, which must live as long as `keep_alive`. `name` is for messages.
Result<Artifact> parse_artifact(std::span<const std::byte> bytes, const std::string& name, std::shared_ptr<const void> keep_alive);
// Does the file begin like an artifact?
bool looks_like_artifact(std::span<const std::byte> bytes);

}  // namespace narrow
