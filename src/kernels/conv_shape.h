// The geometry of a 2-D convolution over channels-last maps, shared by the float and the integer kernels.
#pragma once

#include <cstdint>

namespace narrow {

struct ConvShape {
  std::int64_t batch = 1, in_h = 1, in_w = 1, in_c = 1;   // x [batch, in_h, in_w, in_c]
  std::int64_t out_h = 1, out_w = 1, out_c = 1;           // y [batch, out_h, out_w, out_c]
  std::int64_t kernel_h = 1, kernel_w = 1;                // w [out_c, kernel_h, kernel_w, in_c / groups]
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_left = 0;                 // what lies beyond contributes real 0
  std::int64_t dilation_h = 1, dilation_w = 1;
  std::int64_t groups = 1;
  bool depthwise() const { return groups == in_c && groups == out_c; }
  std::int64_t macs() const { return batch * out_h * out_w * out_c * kernel_h * kernel_w * (in_c / groups); }
};

}  // namespace narrow
