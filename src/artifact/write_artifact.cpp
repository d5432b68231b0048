#include <algorithm>
#include <cstring>

#include "artifact/artifact.h"
#include "artifact/layout.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "graph/text.h"

namespace narrow {
namespace {

using artifact::Entry;
using artifact::Header;

constexpr std::int64_t kInlineElements = 4;  // scales and zero points stay readable in GRAPH

std::string meta_text(const ArtifactContents& c) {
  std::string out;
  const auto line = [&](std::string_view key, std::string_view value) { out += fmt::format("{} {}\n", key, quoted(value)); };
  line("model", c.model);
  line("target", c.target);
  line("target_hash", hash_to_string(c.target_hash));
  line("arithmetic", c.arithmetic);
  line("float_graph_hash", hash_to_string(c.float_graph_hash));
  line("plan_hash", hash_to_string(c.plan_hash));
  line("graph_hash", hash_to_string(c.graph.hash()));
  line("recipe", c.recipe);
  for (const auto& [key, value] : c.extra) line("x." + key, value);
  return out;
}

}  // namespace

std::string artifact_bytes(const ArtifactContents& contents) {
  std::string weights;
  const std::string graph = print_graph(contents.graph, {.max_inline_elements = kInlineElements, .blob = &weights});
  struct Section { std::string_view name; std::string bytes; std::uint32_t flags; std::uint32_t alignment; };
  std::vector<Section> sections;
  sections.push_back({artifact::kMeta, meta_text(contents), artifact::kRequired, 64});
  sections.push_back({artifact::kGraph, graph, artifact::kRequired, 64});
  if (!contents.plan.empty()) sections.push_back({artifact::kPlan, contents.plan, 0, 64});
  if (!contents.report.empty()) sections.push_back({artifact::kReport, contents.report, 0, 64});
  sections.push_back({artifact::kWeights, std::move(weights), artifact::kRequired, 4096});

  std::vector<Entry> table(sections.size());
  std::string out(sizeof(Header) + table.size() * sizeof(Entry), '\0');
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const Section& s = sections[i];
    out.resize((out.size() + s.alignment - 1) / s.alignment * s.alignment, '\0');
    std::copy(s.name.begin(), s.name.end(), table[i].name.begin());
    table[i].flags = s.flags;
    table[i].alignment = s.alignment;
    table[i].offset = out.size();
    table[i].bytes = s.bytes.size();
    table[i].checksum = hash_text(s.bytes);
    out += s.bytes;
  }
  Header header;
  header.file_bytes = out.size();
  header.section_count = static_cast<std::uint32_t>(table.size());
  std::memcpy(out.data(), &header, sizeof header);
  std::memcpy(out.data() + sizeof header, table.data(), table.size() * sizeof(Entry));
  const std::string checked = out.substr(0, artifact::kCheckedHeaderBytes) + out.substr(sizeof header, table.size() * sizeof(Entry));
  header.checksum = hash_text(checked);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

Status write_artifact(const std::string& path, const ArtifactContents& contents) { return write_file(path, artifact_bytes(contents)); }

}  // namespace narrow
