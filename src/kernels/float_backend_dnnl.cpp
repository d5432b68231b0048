// Float kernels by oneDNN: every call of that library stands here. Written for version 2; the differences to version 3
// are confined to describe() and append().
#include <dnnl.hpp>

#include <unordered_map>

#include "kernels/float_backend.h"

namespace narrow {
namespace {

using dnnl::memory;
using Dims = memory::dims;
using Kind = FloatActivation::Kind;

dnnl::engine& engine() {
  static dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}
// One per thread: executors may run side by side, and a stream belongs to one thread. (Primitives share scratch memory within the
// thread that makes them, so whoever makes an executor also runs it.)
dnnl::stream& stream() {
  thread_local dnnl::stream instance(engine());
  return instance;
}

#if DNNL_VERSION_MAJOR >= 3
template <typename Primitive, typename... Args>
typename Primitive::primitive_desc describe(const dnnl::primitive_attr& attr, Args&&... args) {
  return {engine(), std::forward<Args>(args)..., attr};
}
void append(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha, float beta) { ops.append_eltwise(algorithm, alpha, beta); }
constexpr float kHardSwishAlpha = 1.0F / 6.0F, kHardSwishBeta = 0.5F;
#else
template <typename Primitive, typename... Args>
typename Primitive::primitive_desc describe(const dnnl::primitive_attr& attr, Args&&... args) {
  return {typename Primitive::desc(std::forward<Args>(args)...), attr, engine()};
}
void append(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha, float beta) { ops.append_eltwise(1.0F, algorithm, alpha, beta); }
constexpr float kHardSwishAlpha = 0, kHardSwishBeta = 0;  // fixed in version 2
#endif

dnnl::primitive_attr attr_of(const FloatActivation& activation) {
  dnnl::post_ops ops;
  switch (activation.kind) {
    case Kind::kNone: break;
    case Kind::kClip: append(ops, dnnl::algorithm::eltwise_clip, activation.alpha, activation.beta); break;
    case Kind::kLeakyRelu: append(ops, dnnl::algorithm::eltwise_relu, activation.alpha, 0); break;
    case Kind::kSilu: append(ops, dnnl::algorithm::eltwise_swish, 1, 0); break;
    case Kind::kHardSwish: append(ops, dnnl::algorithm::eltwise_hardswish, kHardSwishAlpha, kHardSwishBeta); break;
    case Kind::kSigmoid: append(ops, dnnl::algorithm::eltwise_logistic, 0, 0); break;
    case Kind::kTanh: append(ops, dnnl::algorithm::eltwise_tanh, 0, 0); break;
    case Kind::kGelu: append(ops, dnnl::algorithm::eltwise_gelu_erf, 0, 0); break;
  }
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  return attr;
}

memory::desc plain(const Dims& dims, memory::format_tag tag) { return {dims, memory::data_type::f32, tag}; }
memory::desc strided(const Dims& dims, const Dims& strides) { return {dims, memory::data_type::f32, strides}; }
memory::desc any(const Dims& dims) { return plain(dims, memory::format_tag::any); }
Dims row_major(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

// One primitive with its memories: x and y as the caller lays them out, weights in the primitive's own layout.
class DnnlKernel final : public FloatKernel {
 public:
  DnnlKernel(dnnl::primitive primitive, const memory::desc& x, const memory::desc& y, const memory::desc& given_weights,
             const memory::desc& packed_weights, const memory::desc& bias, const float* weights)
      : primitive_(std::move(primitive)),
        x_(x, engine(), DNNL_MEMORY_NONE),
        y_(y, engine(), DNNL_MEMORY_NONE),
        given_(given_weights, engine(), DNNL_MEMORY_NONE),
        packed_(packed_weights, engine(), DNNL_MEMORY_NONE),
        bias_(bias, engine(), DNNL_MEMORY_NONE),
        reorders_(given_weights != packed_weights),
        constant_(weights != nullptr),
        has_bias_(bias != memory::desc()) {
    if (reorders_ || constant_) packed_ = memory(packed_weights, engine());
    if (constant_) pack(weights);
  }

  void run(const float* x, const float* weights, const float* bias, float* y) override {
    if (!constant_) {
      if (reorders_) {
        pack(weights);
      } else {
        packed_.set_data_handle(const_cast<float*>(weights));
      }
    }
    x_.set_data_handle(const_cast<float*>(x));
    y_.set_data_handle(y);
    std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, packed_}, {DNNL_ARG_DST, y_}};
    if (has_bias_) {
      bias_.set_data_handle(const_cast<float*>(bias));
      arguments.emplace(DNNL_ARG_BIAS, bias_);
    }
    primitive_.execute(stream(), arguments);
    stream().wait();
  }

 private:
  void pack(const float* weights) {
    given_.set_data_handle(const_cast<float*>(weights));
    dnnl::reorder(given_, packed_).execute(stream(), given_, packed_);
    stream().wait();
  }

  dnnl::primitive primitive_;
  memory x_, y_, given_, packed_, bias_;
  bool reorders_, constant_, has_bias_;
};

// oneDNN reports an unsupported problem by an exception.
template <typename Make>
std::unique_ptr<FloatKernel> unless_unsupported(const Make& make) {
  try {
    return make();
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<FloatKernel> make_float_conv(const FloatConvProblem& problem) {
  return unless_unsupported([&]() -> std::unique_ptr<FloatKernel> {
    const ConvShape& s = problem.shape;
    const memory::desc x = plain({s.batch, s.in_c, s.in_h, s.in_w}, memory::format_tag::nhwc);
    const memory::desc y = plain({s.batch, s.out_c, s.out_h, s.out_w}, memory::format_tag::nhwc);
    const std::int64_t in = s.in_c / s.groups;
    Dims dims{s.out_c, in, s.kernel_h, s.kernel_w};
    Dims strides{s.kernel_h * s.kernel_w * in, 1, s.kernel_w * in, in};
    if (s.groups > 1) {
      dims = {s.groups, s.out_c / s.groups, in, s.kernel_h, s.kernel_w};
      strides.insert(strides.begin(), s.out_c / s.groups * strides[0]);
    }
    const memory::desc bias = problem.has_bias ? plain({s.out_c}, memory::format_tag::x) : memory::desc();
    const Dims stride{s.stride_h, s.stride_w}, dilation{s.dilation_h - 1, s.dilation_w - 1}, begin{s.pad_top, s.pad_left};
    // The far padding is what makes the geometry come out at out_h x out_w.
    const auto far_pad = [&](std::int64_t in_extent, std::int64_t out_extent, std::int64_t kernel, std::int64_t step, std::int64_t dilated, std::int64_t near) {
      const std::int64_t reach = dilated * (kernel - 1) + 1;
      return problem.transposed ? (in_extent - 1) * step + reach - near - out_extent : (out_extent - 1) * step + reach - near - in_extent;
    };
    const Dims end{far_pad(s.in_h, s.out_h, s.kernel_h, s.stride_h, s.dilation_h, s.pad_top), far_pad(s.in_w, s.out_w, s.kernel_w, s.stride_w, s.dilation_w, s.pad_left)};
    const dnnl::primitive_attr attr = attr_of(problem.activation);
    const auto build = [&]<typename Primitive>(dnnl::algorithm algorithm) {
      const auto pd = describe<Primitive>(attr, dnnl::prop_kind::forward_inference, algorithm, x, any(dims), bias, y, stride, dilation, begin, end);
      return std::make_unique<DnnlKernel>(Primitive(pd), x, y, strided(dims, strides), pd.weights_desc(), bias, problem.weights);
    };
    if (problem.transposed) return build.template operator()<dnnl::deconvolution_forward>(dnnl::algorithm::deconvolution_direct);
    return build.template operator()<dnnl::convolution_forward>(dnnl::algorithm::convolution_direct);
  });
}

std::unique_ptr<FloatKernel> make_float_gemm(const FloatGemmProblem& problem) {
  return unless_unsupported([&]() -> std::unique_ptr<FloatKernel> {
    const memory::desc x = plain({problem.m, problem.k}, memory::format_tag::nc);
    const memory::desc y = plain({problem.m, problem.n}, memory::format_tag::nc);
    const Dims dims{problem.n, problem.k};
    const memory::desc bias = problem.has_bias ? plain({problem.n}, memory::format_tag::x) : memory::desc();
    const auto pd = describe<dnnl::inner_product_forward>(attr_of(problem.activation), dnnl::prop_kind::forward_inference, x, any(dims), bias, y);
    return std::make_unique<DnnlKernel>(dnnl::inner_product_forward(pd), x, y, plain(dims, memory::format_tag::oi), pd.weights_desc(), bias, problem.weights);
  });
}

std::unique_ptr<FloatKernel> make_float_matmul(const FloatMatMulProblem& problem) {
  return unless_unsupported([&]() -> std::unique_ptr<FloatKernel> {
    const memory::desc a = strided(problem.a, row_major(problem.a)), b = strided(problem.b, row_major(problem.b)), y = strided(problem.y, row_major(problem.y));
    const auto pd = describe<dnnl::matmul>(dnnl::primitive_attr(), a, b, y);
    return std::make_unique<DnnlKernel>(dnnl::matmul(pd), a, y, b, b, memory::desc(), nullptr);
  });
}

}  // namespace narrow
