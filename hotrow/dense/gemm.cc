#include "hotrow/dense/gemm.h"

#include <omp.h>
#include <dnnl.hpp>

#include <array>
#include <string_view>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"

namespace hotrow {
namespace {

using dnnl::memory;

// Debian's oneDNN runs on OpenMP and lets its blocking follow the number of threads it could use. That number
// belongs to the calling thread: pin it to one wherever a primitive is made or run, and give it back.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

memory::data_type DataType(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return memory::data_type::f32;
  }
  HOTROW_CHECK(false);
  return memory::data_type::undef;
}

memory::desc Plain(std::int64_t rows, std::int64_t columns, ElementType type, bool transposed = false) {
  return {{rows, columns}, DataType(type), transposed ? memory::format_tag::ba : memory::format_tag::ab};
}

dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// The one place that follows oneDNN's way of describing primitives (2.x: through an operation descriptor).
dnnl::matmul::primitive_desc Describe(const GemmSpec& spec, const memory::desc& a, const memory::desc& b,
                                      const dnnl::engine& engine) {
  HOTROW_CHECK(spec.m > 0 && spec.n > 0 && spec.k > 0);
  HOTROW_CHECK(!spec.accumulate || (!spec.bias && !spec.relu));
  dnnl::primitive_attr attributes = UserScratchpad();
  dnnl::post_ops post_ops;
  if (spec.relu) post_ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
  if (spec.accumulate) post_ops.append_sum();
  attributes.set_post_ops(post_ops);
  const memory::desc c = Plain(spec.m, spec.n, spec.result);
  const auto operation = spec.bias ? dnnl::matmul::desc(a, b, Plain(1, spec.n, ElementType::kF32), c)
                                   : dnnl::matmul::desc(a, b, c);
  return {operation, attributes, engine};
}

dnnl::engine CpuEngine() { return {dnnl::engine::kind::cpu, 0}; }

}  // namespace

struct PackedWeights::Impl {
  dnnl::engine engine = CpuEngine();
  dnnl::stream stream{engine};
  memory::desc layout;
  Buffer<char> data;
  Buffer<char> scratch;
  dnnl::reorder reorder;
  memory source;
  memory packed;
};

PackedWeights::PackedWeights(const GemmSpec& spec, bool transposed) : impl_(std::make_unique<Impl>()) {
  const OneThread one_thread;
  Impl& p = *impl_;
  const memory::desc any({spec.k, spec.n}, DataType(spec.operands), memory::format_tag::any);
  p.layout = Describe(spec, Plain(spec.m, spec.k, spec.operands), any, p.engine).weights_desc();
  p.data.EnsureSize(static_cast<std::int64_t>(p.layout.get_size()));
  const memory::desc source = Plain(spec.k, spec.n, ElementType::kF32, transposed);
  const dnnl::reorder::primitive_desc description(p.engine, source, p.engine, p.layout, UserScratchpad());
  p.scratch.EnsureSize(static_cast<std::int64_t>(description.scratchpad_desc().get_size()));
  p.reorder = dnnl::reorder(description);
  p.source = memory(source, p.engine, nullptr);
  p.packed = memory(p.layout, p.engine, p.data.data());
}

PackedWeights::~PackedWeights() = default;
PackedWeights::PackedWeights(PackedWeights&&) noexcept = default;
PackedWeights& PackedWeights::operator=(PackedWeights&&) noexcept = default;

void PackedWeights::Pack(const void* weights) {
  const OneThread one_thread;
  Impl& p = *impl_;
  p.source.set_data_handle(const_cast<void*>(weights));
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_FROM, p.source}, {DNNL_ARG_TO, p.packed}};
  if (p.scratch.size() > 0) {
    const memory::desc bytes({p.scratch.size()}, memory::data_type::u8, memory::format_tag::a);
    arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(bytes, p.engine, p.scratch.data()));
  }
  p.reorder.execute(p.stream, arguments);
}

std::int64_t PackedWeights::bytes() const { return impl_->data.size(); }

struct Gemm::Impl {
  GemmSpec spec;
  GemmScratch* scratch = nullptr;
  const void* weights = nullptr;
  std::string implementation;
  dnnl::engine engine = CpuEngine();
  dnnl::stream stream{engine};
  dnnl::matmul matmul;
  memory a, b, bias, c, scratchpad;
  std::array<dnnl_exec_arg_t, 5> arguments{};  // the C call takes them as they are; the C++ one copies a map
  int num_arguments = 0;

  void AddArgument(int index, memory& object, const memory::desc& layout) {
    object = memory(layout, engine, nullptr);
    arguments[Index(num_arguments++)] = {index, object.get()};
  }

  Impl(const GemmSpec& gemm_spec, const memory::desc& a_layout, const memory::desc& b_layout,
       GemmScratch& gemm_scratch)
      : spec(gemm_spec), scratch(&gemm_scratch) {
    const auto description = Describe(spec, a_layout, b_layout, engine);
    implementation = description.impl_info_str();
    matmul = dnnl::matmul(description);
    AddArgument(DNNL_ARG_SRC, a, a_layout);
    AddArgument(DNNL_ARG_WEIGHTS, b, b_layout);
    AddArgument(DNNL_ARG_DST, c, description.dst_desc());
    AddArgument(DNNL_ARG_SCRATCHPAD, scratchpad, description.scratchpad_desc());
    if (spec.bias) AddArgument(DNNL_ARG_BIAS, bias, Plain(1, spec.n, ElementType::kF32));
    scratch->AddGemm(static_cast<std::int64_t>(description.scratchpad_desc().get_size()));
  }

  void Run(const void* a_data, const void* b_data, const float* bias_data, void* c_data) {
    const OneThread one_thread;
    a.set_data_handle(const_cast<void*>(a_data));
    b.set_data_handle(const_cast<void*>(b_data));
    c.set_data_handle(c_data);
    scratchpad.set_data_handle(scratch->data());
    if (spec.bias) bias.set_data_handle(const_cast<float*>(bias_data));
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(matmul.get(), stream.get(), num_arguments, arguments.data()),
        "could not run a matrix product");
  }
};

Gemm::Gemm(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Gemm::~Gemm() = default;
Gemm::Gemm(Gemm&&) noexcept = default;
Gemm& Gemm::operator=(Gemm&&) noexcept = default;

Gemm Gemm::WithWeights(const GemmSpec& spec, const PackedWeights& weights, GemmScratch& scratch) {
  const OneThread one_thread;
  Gemm gemm(
      std::make_unique<Impl>(spec, Plain(spec.m, spec.k, spec.operands), weights.impl_->layout, scratch));
  gemm.impl_->weights = weights.impl_->data.data();
  return gemm;
}

Gemm Gemm::Transposed(const GemmSpec& spec, GemmScratch& scratch) {
  HOTROW_CHECK(!spec.bias && !spec.relu);
  const OneThread one_thread;
  return Gemm(std::make_unique<Impl>(spec, Plain(spec.m, spec.k, spec.operands, true),
                                     Plain(spec.k, spec.n, spec.operands), scratch));
}

void Gemm::Run(const void* a, const float* bias, void* c) { impl_->Run(a, impl_->weights, bias, c); }

void Gemm::RunTransposed(const void* a, const void* b, void* c) { impl_->Run(a, b, nullptr, c); }

const GemmSpec& Gemm::spec() const { return impl_->spec; }
std::string Gemm::implementation() const { return impl_->implementation; }
bool Gemm::is_reference() const { return std::string_view(impl_->implementation).starts_with("ref"); }

std::string GemmCpuIsa() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    default:
      return "other";
  }
}

}  // namespace hotrow
