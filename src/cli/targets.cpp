#include "target/target.h"

#include "base/json.h"
#include "base/table.h"
#include "cli/networks.h"

namespace narrow::cli {

Status run(const TargetsCommand& command) {
  Json json = Json::array();
  Table table({{"target"}, {"activations"}, {"weights"}, {"rounding"}, {"summary"}});
  for (const std::string& name : target_names()) {
    const Target target = NARROW_TRY(load_target(name));
    std::string dtypes;
    Json list = Json::array();
    for (const DType dtype : target.activations) {
      dtypes += (dtypes.empty() ? "" : " ") + std::string(name_of(dtype));
      list.push_back(name_of(dtype));
    }
    table.add_row({name, dtypes, fmt::format("i{} {}", target.weight_bits, target.per_channel_weights ? "per channel" : "per tensor"), std::string(name_of(target.arithmetic.rounding)), target.summary});
    Json entry = Json::object();
    entry["name"] = name;
    entry["summary"] = target.summary;
    entry["activations"] = std::move(list);
    entry["weight_bits"] = target.weight_bits;
    entry["per_channel_weights"] = target.per_channel_weights;
    entry["rounding"] = name_of(target.arithmetic.rounding);
    json.push_back(std::move(entry));
  }
  return print_result(command.common.json ? json.dump() + "\n" : table.to_string());
}

}  // namespace narrow::cli
