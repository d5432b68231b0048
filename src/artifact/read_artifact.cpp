#include <algorithm>
#include <cstring>

#include "artifact/artifact.h"
#include "artifact/layout.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "graph/text.h"
#include "ops/op_def.h"
#include "ops/verify_network.h"

namespace narrow {
namespace {

using artifact::Entry;
using artifact::Header;

constexpr const char* kDamaged = "the file is damaged: copy it again (in binary mode) or compile the model again";
constexpr const char* kNewer = "it was written by a newer version of narrow: update the runtime, or compile the model again";

std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
bool all_zero(std::span<const std::byte> bytes) { return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }); }

struct Container {
  Header header;
  std::vector<Entry> table;  // sorted by offset
  std::span<const std::byte> bytes;

  static std::string name(const Entry& e) {
    const auto end = std::find(e.name.begin(), e.name.end(), '\0');
    return std::string(e.name.begin(), end);
  }
  std::span<const std::byte> contents(const Entry& e) const { return bytes.subspan(e.offset, e.bytes); }
  const Entry* find(std::string_view wanted) const {
    const auto it = std::find_if(table.begin(), table.end(), [&](const Entry& e) { return name(e) == wanted; });
    return it == table.end() ? nullptr : &*it;
  }
};

Result<Container> open_container(std::span<const std::byte> bytes) {
  Container c;
  c.bytes = bytes;
  if (!looks_like_artifact(bytes)) return error("not a narrow artifact").with_help("`narrow compile MODEL -o OUT.narrow` makes one");
  if (bytes.size() < sizeof(Header)) return error("the file ends inside its header ({} bytes)", bytes.size()).with_help(kDamaged);
  std::memcpy(&c.header, bytes.data(), sizeof(Header));
  const Header& h = c.header;
  if (h.format_major != artifact::kFormatMajor) return error("format version {}.{}, this reader knows {}.x", h.format_major, h.format_minor, artifact::kFormatMajor).with_help(kNewer);
  if (h.file_bytes != bytes.size()) return error("the file has {} bytes, its header says {}", bytes.size(), h.file_bytes).with_help(kDamaged);
  if (h.header_bytes != sizeof(Header) || h.entry_bytes != sizeof(Entry) || h.section_count > artifact::kMaxSections || h.flags != 0) {
    return error("the header is damaged").with_help(kDamaged);
  }
  const std::uint64_t table_bytes = std::uint64_t{h.section_count} * sizeof(Entry);
  if (h.table_offset != sizeof(Header) || table_bytes > bytes.size() - sizeof(Header)) return error("the section table lies outside the file").with_help(kDamaged);
  const auto table = bytes.subspan(sizeof(Header), table_bytes);
  const std::string checked = std::string(text_of(bytes.first(artifact::kCheckedHeaderBytes))) + std::string(text_of(table));
  if (hash_text(checked) != h.checksum) return error("the checksum of header and section table is wrong").with_help(kDamaged);
  if ((h.required_features & ~artifact::kKnownFeatures) != 0) {
    return error("the file requires the unknown features {:#x}", h.required_features & ~artifact::kKnownFeatures).with_help(kNewer);
  }
  c.table.resize(h.section_count);
  if (table_bytes > 0) std::memcpy(c.table.data(), table.data(), table_bytes);
  std::stable_sort(c.table.begin(), c.table.end(), [](const Entry& a, const Entry& b) { return a.offset < b.offset; });

  // Sections follow each other without overlap; what lies between them is zero, so that every byte of the file is checked.
  std::uint64_t end = sizeof(Header) + table_bytes;
  for (const Entry& e : c.table) {
    const std::string name = Container::name(e);
    if (e.offset < end || e.offset > bytes.size() || e.bytes > bytes.size() - e.offset) return error("section {} lies outside the file or overlaps another", quoted(name)).with_help(kDamaged);
    if (e.alignment == 0 || (e.alignment & (e.alignment - 1)) != 0 || e.offset % e.alignment != 0) return error("section {} is not aligned", quoted(name)).with_help(kDamaged);
    if (!all_zero(bytes.subspan(end, e.offset - end))) return error("the padding before section {} is not zero", quoted(name)).with_help(kDamaged);
    if (hash_bytes(bytes.data() + e.offset, e.bytes) != e.checksum) return error("the checksum of section {} is wrong", quoted(name)).with_help(kDamaged);
    end = e.offset + e.bytes;
  }
  if (!all_zero(bytes.subspan(end))) return error("the bytes after the last section are not zero").with_help(kDamaged);

  constexpr std::string_view kKnown[] = {artifact::kMeta, artifact::kGraph, artifact::kPlan, artifact::kReport, artifact::kWeights};
  for (std::size_t i = 0; i < c.table.size(); ++i) {
    const std::string name = Container::name(c.table[i]);
    const bool known = std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown);
    if (!known && (c.table[i].flags & artifact::kRequired) != 0) return error("section {} is required and unknown to this reader", quoted(name)).with_help(kNewer);
    for (std::size_t k = 0; k < i; ++k) {
      if (Container::name(c.table[k]) == name) return error("section {} stands twice in the file", quoted(name)).with_help(kDamaged);
    }
  }
  for (const std::string_view name : {artifact::kMeta, artifact::kGraph, artifact::kWeights}) {
    if (c.find(name) == nullptr) return error("section {} is missing", quoted(name)).with_help(kDamaged);
  }
  return c;
}

// Lines `key "value"`.
Result<std::map<std::string, std::string>> parse_meta(std::string_view text) {
  std::map<std::string, std::string> out;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const std::size_t blank = line.find(' ');
    const auto value = blank == std::string::npos ? std::nullopt : unquoted(std::string_view(line).substr(blank + 1));
    if (!value || !out.emplace(line.substr(0, blank), *value).second) return error("line {} of META is malformed", number).with_help(kDamaged);
  }
  return out;
}

Result<std::uint64_t> take_hash(std::map<std::string, std::string>& meta, const std::string& key) {
  std::uint64_t hash = 0;
  if (!hash_from_string(meta[key], &hash)) return error("META has no valid '{}'", key).with_help(kDamaged);
  meta.erase(key);
  return hash;
}

std::string take_text(std::map<std::string, std::string>& meta, const std::string& key) {
  std::string value = std::move(meta[key]);
  meta.erase(key);
  return value;
}

Status check_operators(const Graph& graph) {
  std::vector<std::string> unknown;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const OpDef* op = find_op(node.op);
    if (op == nullptr || (op->run == nullptr && op->prepare == nullptr && !op->view)) unknown.push_back(fmt::format("node '{}': operator '{}'", node.name, node.op));
  }
  if (!unknown.empty()) return error("{} nodes use operators that this runtime does not have", unknown.size()).with_notes(std::move(unknown)).with_help(kNewer);
  auto status = verify_network(graph);
  if (!status) status.error().help = kDamaged;
  return status;
}

Result<Artifact> parse(std::span<const std::byte> bytes, const std::string& name, std::shared_ptr<const void> keep_alive) {
  const Container container = NARROW_TRY(open_container(bytes));
  Artifact out;
  out.file_bytes = bytes.size();
  out.hash = container.header.checksum;
  for (const Entry& e : container.table) out.sections.push_back({Container::name(e), e.offset, e.bytes, e.checksum});
  const auto section = [&](std::string_view wanted) {
    const Entry* e = container.find(wanted);
    return e == nullptr ? std::span<const std::byte>() : container.contents(*e);
  };
  ArtifactContents& c = out.contents;
  auto meta = NARROW_TRY(parse_meta(text_of(section(artifact::kMeta))));
  c.model = take_text(meta, "model");
  c.target = take_text(meta, "target");
  c.arithmetic = take_text(meta, "arithmetic");
  c.recipe = take_text(meta, "recipe");
  c.target_hash = NARROW_TRY(take_hash(meta, "target_hash"));
  c.float_graph_hash = NARROW_TRY(take_hash(meta, "float_graph_hash"));
  c.plan_hash = NARROW_TRY(take_hash(meta, "plan_hash"));
  const std::uint64_t graph_hash = NARROW_TRY(take_hash(meta, "graph_hash"));
  for (auto& [key, value] : meta) {
    if (key.starts_with("x.")) c.extra.emplace(key.substr(2), std::move(value));
  }
  c.plan = text_of(section(artifact::kPlan));
  c.report = text_of(section(artifact::kReport));
  c.graph = NARROW_TRY(parse_graph(text_of(section(artifact::kGraph)), {.file = name + ":GRAPH", .blob = section(artifact::kWeights), .keep_alive = std::move(keep_alive)}));
  if (c.graph.hash() != graph_hash) return error("the graph has hash {}, META says {}", hash_to_string(c.graph.hash()), hash_to_string(graph_hash)).with_help(kDamaged);
  NARROW_TRY(check_operators(c.graph));
  return out;
}

}  // namespace

bool looks_like_artifact(std::span<const std::byte> bytes) {
  return bytes.size() >= artifact::kMagic.size() && std::memcmp(bytes.data(), artifact::kMagic.data(), artifact::kMagic.size()) == 0;
}

Result<Artifact> parse_artifact(std::span<const std::byte> bytes, const std::string& name, std::shared_ptr<const void> keep_alive) {
  auto out = parse(bytes, name, std::move(keep_alive));
  if (!out) return tl::unexpected<Error>(std::move(out.error()).in(fmt::format("artifact '{}'", name)));
  return out;
}

Result<Artifact> read_artifact(const std::string& path) {
  const auto file = NARROW_TRY(MappedFile::open(path));
  return parse_artifact(file->bytes(), path, file);
}

}  // namespace narrow
