// What qadd and qmul share: the grids of both operands and of the output, the broadcasting loop over codes, and its fast
// form for 8-bit operands.
#pragma once

#include <optional>

#include "kernels/elementwise_u8.h"
#include "ops/binary.h"
#include "ops/integer_output.h"

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
// Inputs a, b, multiplier[rescales], shift[rescales].
Result<std::vector<TensorType>> infer_codes(const Graph& graph, const Node& node, std::int64_t rescales);

// Code is constructed from the context and maps two codes to one.
template <typename Code>
void run_codes(RunContext& ctx) {
  const Code code(ctx);
  with_codes(ctx.inputs[0], [&](const auto* a) {
    with_codes(ctx.inputs[1], [&](const auto* b) {
      with_codes(ctx.outputs[0], [&](auto* y) {
        using Y = std::remove_pointer_t<decltype(y)>;
        broadcast_apply(ctx, a, b, y, [&](std::int32_t p, std::int32_t q) { return static_cast<Y>(code(p, q)); });
      });
    });
  });
}

// All codes of 8 bits: the array kernel that `fast_form(code)` makes (kernels/elementwise_u8.h), once at the first run.
template <typename Code>
class BytesKernel : public Kernel {
 public:
  void run(RunContext& ctx) override {
    if (!fast_) fast_.emplace(fast_form(Code(ctx)));
    const BroadcastLoop loop = broadcast_loop(ctx.inputs[0].shape(), ctx.inputs[1].shape(), ctx.outputs[0].shape());
    const std::uint8_t *a = ctx.inputs[0].data<std::uint8_t>(), *b = ctx.inputs[1].data<std::uint8_t>();
    std::uint8_t* y = ctx.outputs[0].data<std::uint8_t>();
    if (loop.rows() == 1) return fast_->run({a, b, loop.a_step, loop.b_step}, y, loop.count);  // divides it among threads
    for_rows(loop, [&](std::int64_t ao, std::int64_t bo, std::int64_t yo, std::int64_t n) { fast_->run({a + ao, b + bo, loop.a_step, loop.b_step}, y + yo, n); });
  }

 private:
  std::optional<decltype(fast_form(std::declval<Code>()))> fast_;
};

// nullptr when some code has 16 bits.
template <typename Code>
std::unique_ptr<Kernel> prepare_codes(const Graph& graph, const Node& node) {
  for (const ValueId id : {node.inputs[0], node.inputs[1], node.outputs[0]}) {
    if (graph.value(id).dtype != DType::kU8) return nullptr;
  }
  return std::make_unique<BytesKernel<Code>>();
}

}  // namespace narrow
