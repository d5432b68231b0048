// What qadd and qmul share: the grids of both operands and of the output, the broadcasting loop over codes, and its fast
// form for 8-bit operands: a table of the results of all 65,536 pairs, exact by construction.
#pragma once

#include "ops/binary.h"
#include "ops/lower_context.h"

namespace narrow {

// Attributes a_zero_point, b_zero_point, y_zero_point, y_min, y_max, y_dtype; a_scale, b_scale, y_scale under float_rne.
struct BinaryGrid {
  Rounding rounding = Rounding::kSingleRound;
  std::int32_t a_zero_point = 0, b_zero_point = 0, y_zero_point = 0, low = 0, high = 255;
  float a_scale = 1, b_scale = 1, y_scale = 1;
  bool wide = false;  // some code has 16 bits
};
BinaryGrid read_binary_grid(const RunContext& ctx);
void set_binary_grid(LowerContext& ctx, Attrs& attrs);  // inputs 0 and 1, output 0, the fused clamp
Result<std::vector<TensorType>> infer_codes(const Graph& graph, const Node& node);

// Calls fn with a pointer to the codes of a u8 or i16 tensor.
template <typename T, typename Fn>
void with_code_pointer(T& tensor, const Fn& fn) {
  if (tensor.dtype() == DType::kU8) {
    fn(tensor.template data<std::uint8_t>());
  } else {
    fn(tensor.template data<std::int16_t>());
  }
}

// Code is constructed from the context and maps two codes to one.
template <typename Code>
void run_codes(RunContext& ctx) {
  const Code code(ctx);
  with_code_pointer(ctx.inputs[0], [&](const auto* a) {
    with_code_pointer(ctx.inputs[1], [&](const auto* b) {
      with_code_pointer(ctx.outputs[0], [&](auto* y) {
        using Y = std::remove_pointer_t<decltype(y)>;
        broadcast_apply(ctx, a, b, y, [&](std::int32_t p, std::int32_t q) { return static_cast<Y>(code(p, q)); });
      });
    });
  });
}

template <typename Code>
class PairTable : public Kernel {
 public:
  void run(RunContext& ctx) override {
    if (table_.empty()) {
      const Code code(ctx);
      table_.resize(65536);
      for (std::int32_t i = 0; i < 65536; ++i) table_[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(code(i >> 8, i & 255));
    }
    const std::uint8_t* table = table_.data();
    broadcast_apply(ctx, ctx.inputs[0].data<std::uint8_t>(), ctx.inputs[1].data<std::uint8_t>(), ctx.outputs[0].data<std::uint8_t>(),
                    [table](std::uint8_t a, std::uint8_t b) { return table[a << 8 | b]; });
  }

 private:
  std::vector<std::uint8_t> table_;  // [a][b]
};

template <typename Code>
std::unique_ptr<Kernel> prepare_codes(const Graph& graph, const Node& node) {
  constexpr std::int64_t kWorthATable = 8192;  // elements
  const Value& y = graph.value(node.outputs[0]);
  const bool bytes = y.dtype == DType::kU8 && graph.value(node.inputs[0]).dtype == DType::kU8 && graph.value(node.inputs[1]).dtype == DType::kU8;
  if (!bytes || element_count(y.shape) < kWorthATable) return nullptr;
  return std::make_unique<PairTable<Code>>();
}

}  // namespace narrow
