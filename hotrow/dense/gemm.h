#pragma once
// Matrix products, one thread each: a thread owns a unit of samples from end to end, so parallelism is above
// this file. gemm.cc holds every call of oneDNN there is; the rest of the project sees these classes only.
//
// The kernel is chosen by the CPU's features, never by the number of cores or by timing, so that bits repeat.

#include <cstdint>
#include <memory>
#include <string>

#include "hotrow/machine/buffer.h"

namespace hotrow {

/// What the numbers of an operand are. Sums are always kept in fp32.
enum class ElementType { kF32 };

/// c[m, n] = relu(a[m, k] · b[k, n] + bias[n]) or c += a · b; everything row-major and dense.
struct GemmSpec {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool bias = false;
  bool relu = false;
  bool accumulate = false;  ///< c += …; not together with bias or relu
  ElementType operands = ElementType::kF32;
  ElementType result = ElementType::kF32;

  double flop() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

/// Memory that the kernels of one thread share while they run. Gemms keep a reference: it must outlive them.
class GemmScratch {
 public:
  /// Room for one more Gemm, which needs `bytes`.
  void AddGemm(std::int64_t bytes) {
    memory_.EnsureSize(bytes);
    ++gemms_;
  }
  void* data() { return memory_.data(); }

  /// Gemms made on this memory so far, those that are gone included.
  std::int64_t gemms() const { return gemms_; }

 private:
  std::int64_t gemms_ = 0;
  Buffer<char> memory_;
};

/// The right operand b[k, n] in the layout that this CPU's kernel reads fastest: weights, which all threads
/// share and many calls reuse. Its layout is chosen for products of `spec`; any other m is served too.
class PackedWeights {
 public:
  /// `transposed`: Pack's source holds b transposed, [n, k] row-major.
  PackedWeights(const GemmSpec& spec, bool transposed);
  ~PackedWeights();
  PackedWeights(PackedWeights&&) noexcept;
  PackedWeights& operator=(PackedWeights&&) noexcept;

  /// Copies the weights into the layout. One call at a time; no Gemm may run on them meanwhile.
  void Pack(const void* weights);

  std::int64_t bytes() const;

 private:
  friend class Gemm;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// One product of fixed sizes, made once and run often, by one thread at a time.
class Gemm {
 public:
  /// b is packed weights, whose address is remembered: they must outlive the Gemm.
  static Gemm WithWeights(const GemmSpec& spec, const PackedWeights& weights, GemmScratch& scratch);
  /// a is stored transposed, [k, m]: a layer's weight gradient xᵀ · dy, summed over samples in their order
  /// wherever the kernel keeps one order for one shape. No bias, no relu.
  static Gemm Transposed(const GemmSpec& spec, GemmScratch& scratch);
  ~Gemm();
  Gemm(Gemm&&) noexcept;
  Gemm& operator=(Gemm&&) noexcept;

  /// `bias` [n] fp32 when the spec has one. c may not overlap the operands.
  void Run(const void* a, const float* bias, void* c);
  /// For Transposed: b [k, n].
  void RunTransposed(const void* a, const void* b, void* c);

  const GemmSpec& spec() const;
  /// The kernel's name as oneDNN gives it, e.g. "brg:avx512_core".
  std::string implementation() const;
  /// The kernel is the library's slow reference: no vector units fit, or the library declined the shape.
  bool is_reference() const;

 private:
  struct Impl;
  explicit Gemm(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The vector units that matrix products use on this machine, for reports: "avx512_core_amx", "avx2", ….
std::string GemmCpuIsa();

}  // namespace hotrow
