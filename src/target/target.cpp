#include "target/target.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "base/strict_map.h"
#include "base/text.h"
#include "ops/op_def.h"

namespace narrow {
namespace {

namespace fs = std::filesystem;

const StrictMap::Choices<DType> kActivationTypes = {{"int8", DType::kI8}, {"uint8", DType::kU8}, {"int16", DType::kI16}};
const StrictMap::Choices<DType> kPreactivationTypes = {{"int16", DType::kI16}, {"uint8", DType::kU8}};
const StrictMap::Choices<Rounding> kRoundings = {{name_of(Rounding::kSingleRound), Rounding::kSingleRound},
                                                 {name_of(Rounding::kDoubleRound), Rounding::kDoubleRound},
                                                 {name_of(Rounding::kFloatRne), Rounding::kFloatRne}};
const StrictMap::Choices<bool> kAverages = {{"raw_codes", true}, {"zero_point_removed", false}};

// Where target files lie, the most specific place first.
std::vector<fs::path> target_folders() {
  std::vector<fs::path> folders;
  if (const char* user = std::getenv("NARROW_TARGETS")) {
    for (const std::string& folder : split(user, ':')) {
      if (!folder.empty()) folders.emplace_back(folder);
    }
  }
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  if (!code) {
    folders.push_back(program.parent_path() / "../share/narrow/targets");
    folders.push_back(program.parent_path() / "../targets");
  }
  folders.emplace_back(fs::path(NARROW_SOURCE_DIR) / "targets");
  return folders;
}

// Only what a layer can be after import is a name that could have an effect.
Status check_operator(const std::string& name, const SourceSpan& where) {
  std::vector<std::string> names;
  for (const OpDef* op : all_ops()) {
    if (!is_float_op(*op) || is_rewritten(*op)) continue;
    if (op->name == name) return {};
    names.emplace_back(op->name);
  }
  const OpDef* op = find_op(name);
  if (op != nullptr && is_float_op(*op)) return error("'{}' of 'float_only' has no effect: import rewrites this operator", name).at(where).with_help("name the operators that it becomes: `narrow ops`");
  const std::string near = did_you_mean(name, names);
  return error("'float_only' names '{}', and there is no such operator", name).at(where).with_help((near.empty() ? "" : near + "  ") + "`narrow ops` lists the operators");
}

}  // namespace

Result<Target> parse_target(std::string_view yaml, const std::string& file) {
  const Json root = NARROW_TRY(parse_yaml(yaml, file));
  StrictMap map = NARROW_TRY(StrictMap::open(root, "the target"));
  Target target;
  target.name = fs::path(file).stem().string();
  NARROW_TRY(map.read("name", &target.name));
  NARROW_TRY(map.read("summary", &target.summary));
  if (const Json* node = map.find("activations")) {
    StrictMap activations = NARROW_TRY(StrictMap::open(*node, "'activations'"));
    NARROW_TRY(activations.choose_many("types", kActivationTypes, &target.activations));
    NARROW_TRY(activations.read("symmetric", &target.symmetric_activations));
    NARROW_TRY(activations.finish());
  }
  if (const Json* node = map.find("weights")) {
    StrictMap weights = NARROW_TRY(StrictMap::open(*node, "'weights'"));
    NARROW_TRY(weights.read("bits", &target.weight_bits, 2, 8));
    NARROW_TRY(weights.read("per_channel", &target.per_channel_weights));
    NARROW_TRY(weights.finish());
  }
  if (const Json* node = map.find("arithmetic")) {
    StrictMap arithmetic = NARROW_TRY(StrictMap::open(*node, "'arithmetic'"));
    NARROW_TRY(arithmetic.choose("rounding", kRoundings, &target.arithmetic.rounding));
    NARROW_TRY(arithmetic.choose("average_pool", kAverages, &target.arithmetic.average_raw_codes));
    NARROW_TRY(arithmetic.choose("preactivation", kPreactivationTypes, &target.arithmetic.preactivation));
    NARROW_TRY(arithmetic.read("accumulator_bits", &target.accumulator_bits, 16, 64));
    NARROW_TRY(arithmetic.read("bias_bits", &target.bias_bits, 16, 32));
    NARROW_TRY(arithmetic.finish());
  }
  NARROW_TRY(map.read("float_islands", &target.float_islands));
  if (const Json* node = map.find("float_only")) {
    if (!node->is_object()) return map.wrong_kind("float_only", *node, "a map from operators to reasons");
    for (const auto& [op, reason] : node->members()) {
      NARROW_TRY(check_operator(op, reason.key_where != nullptr ? *reason.key_where : reason.where));
      if (!reason.is_string()) return map.wrong_kind(op, reason, "the reason, as text");
      target.float_only.emplace(op, reason.as_string());
    }
  }
  NARROW_TRY(map.finish());
  if (target.name.empty()) return error("the target has no name").at(root.where).with_help("write 'name: my-target'");
  return target;
}

Result<Target> load_target(const std::string& name) {
  const bool is_path = name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml");
  if (is_path) return parse_target(NARROW_TRY(read_file(name)), name);
  for (const fs::path& folder : target_folders()) {
    const fs::path file = folder / (name + ".yaml");
    std::error_code code;
    if (fs::is_regular_file(file, code)) return parse_target(NARROW_TRY(read_file(file.string())), file.string());
  }
  const std::vector<std::string> names = target_names();
  const std::string near = did_you_mean(name, names);
  return error("no target is called '{}'", name)
      .with_help(fmt::format("{}known: {}; or give the path of a target file", near.empty() ? "" : near + "  ", join(names, ", ")));
}

std::vector<std::string> target_names() {
  std::set<std::string> names;
  for (const fs::path& folder : target_folders()) {
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder, code)) {
      if (entry.path().extension() == ".yaml") names.insert(entry.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

Target::Answer Target::supports(std::string_view op, DType activation) const {
  if (const auto it = float_only.find(op); it != float_only.end()) return {false, it->second};
  if (std::find(activations.begin(), activations.end(), activation) == activations.end()) {
    std::vector<std::string> types;
    for (const DType type : activations) types.emplace_back(name_of(type));
    return {false, fmt::format("{} activations are not offered by target '{}', which has {}", name_of(activation), name, join(types, ", "))};
  }
  return {};
}

std::uint64_t Target::hash() const {
  Json form;
  form["name"] = name;
  for (const DType type : activations) form["activations"].push_back(name_of(type));
  form["symmetric"] = symmetric_activations;
  form["weight_bits"] = weight_bits;
  form["per_channel"] = per_channel_weights;
  form["accumulator_bits"] = accumulator_bits;
  form["bias_bits"] = bias_bits;
  form["float_islands"] = float_islands;
  form["rounding"] = name_of(arithmetic.rounding);
  form["average_raw_codes"] = arithmetic.average_raw_codes;
  form["preactivation"] = name_of(arithmetic.preactivation);
  form["float_only"] = Json::object();
  for (const auto& [op, reason] : float_only) form["float_only"][op] = reason;
  return hash_text(form.dump(-1));
}

}  // namespace narrow
