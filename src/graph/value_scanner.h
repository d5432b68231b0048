// Types, quantization parameters and the data of constants in the graph text. Errors point at the place.
#pragma once

#include "graph/graph_scanner.h"
#include "graph/text.h"

namespace narrow {

class ValueScanner : protected GraphScanner {
 protected:
  ValueScanner(std::string_view text, const ParseOptions& options) : GraphScanner(text, options.file), options_(options) {}

  Result<TensorType> type();                         // f32[1,8]
  Result<QuantParams> quant(const TensorType& type); // (scale, zero_point[, axis=, bits=, narrow, dtype]), of a value of that type
  Result<Tensor> contents(const TensorType& type);   // {1, 2}, @offset, rand(seed[, lo, hi]) or fill(value)

  const ParseOptions& options_;

 private:
  template <typename T>
  Status list(Tensor& tensor);
  Result<Tensor> elided(const TensorType& t);
  Result<Tensor> generated(const TensorType& t, bool random);
  Result<Tensor> stored(const TensorType& t);
};

}  // namespace narrow
