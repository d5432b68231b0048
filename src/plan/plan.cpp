#include "plan/plan.h"

#include <algorithm>

#include "base/hash.h"

namespace narrow {
namespace {

template <typename T, typename Fn>
const T* find_in(const std::vector<T>& list, const Fn& matches) {
  const auto it = std::find_if(list.begin(), list.end(), matches);
  return it == list.end() ? nullptr : &*it;
}

}  // namespace

const ActivationPlan* Plan::activation(std::string_view value) const {
  return find_in(activations, [&](const ActivationPlan& a) { return a.value == value; });
}

const ConstantPlan* Plan::constant(std::string_view node, int slot) const {
  return find_in(constants, [&](const ConstantPlan& c) { return c.slot == slot && c.node == node; });
}

const IslandPlan* Plan::island(std::string_view node) const {
  return find_in(islands, [&](const IslandPlan& i) { return i.node == node; });
}

std::uint64_t Plan::hash() const { return hash_text(to_text()); }

}  // namespace narrow
