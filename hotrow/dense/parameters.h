#pragma once
// The dense parameters of a model in one flat fp32 array, so that an optimizer pass, an all-reduce and a hash
// are one loop each.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/machine/buffer.h"

namespace hotrow {

/// A matrix (or vector: rows = 1) inside the flat array. Stored [rows, columns] row-major; rows may be padded
/// with zero rows up to padded_rows, which stay zero (their gradient is zero). TorchRec keeps linear weights
/// [out, in]: those are stored transposed here, [in, out], because the GEMM's gradient comes out that way;
/// `transposed` says so, and Export and Import turn them.
struct Parameter {
  std::string name;         ///< TorchRec's, e.g. "over_arch.model.0._mlp.0._linear.weight"
  std::int64_t offset = 0;  ///< floats from the start of the flat array, a multiple of 16
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t padded_rows = 0;
  bool transposed = false;
  bool vector = false;  ///< one-dimensional in TorchRec (a bias)

  std::int64_t size() const { return rows * columns; }
};

class Parameters {
 public:
  /// Appends a parameter and returns its index. Only before Allocate.
  std::int64_t Add(std::string name, std::int64_t rows, std::int64_t columns, bool transposed, bool vector,
                   std::int64_t row_padding = 1);
  /// Makes the weights (zeros). No Add after it.
  void Allocate();

  std::span<const Parameter> list() const { return list_; }
  std::int64_t padded_size() const { return padded_size_; }  ///< floats of the flat array
  float* weights() { return weights_.data(); }
  const float* weights() const { return weights_.data(); }
  float* weights(std::int64_t index) { return weights_.data() + list_[Index(index)].offset; }
  const float* weights(std::int64_t index) const { return weights_.data() + list_[Index(index)].offset; }

  /// Copies a parameter out of `flat` (weights, a gradient or state) in TorchRec's shape and order, or in.
  void Export(std::int64_t index, const float* flat, std::span<float> out) const;
  void Import(std::int64_t index, std::span<const float> in, float* flat) const;

  /// Makes the elements of `flat` that belong to no parameter (padding rows, the gaps between parameters)
  /// zero; with `part`, those of that range only.
  void ZeroPadding(float* flat) const { ZeroPadding(flat, {0, padded_size_}); }
  void ZeroPadding(float* flat, Slice part) const;

  /// Sum modulo 2^64 of XXH3 over (name, bytes in TorchRec's order) of every parameter of `flat`.
  std::uint64_t Hash(const float* flat) const;

 private:
  std::vector<Parameter> list_;
  std::int64_t padded_size_ = 0;
  Buffer<float> weights_;
};

}  // namespace hotrow
