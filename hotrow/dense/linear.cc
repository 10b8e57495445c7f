#include "hotrow/dense/linear.h"

#include <algorithm>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"

namespace hotrow {
namespace {

constexpr std::size_t kRowCountsKept = 16;

const Parameter& At(const Parameters& parameters, std::int64_t index) {
  return parameters.list()[Index(index)];
}

}  // namespace

Linear::Linear(const Parameters& parameters, const LinearSpec& spec, std::int64_t rows)
    : parameters_(&parameters),
      spec_(spec),
      in_(At(parameters, spec.weight).padded_rows),
      out_(At(parameters, spec.weight).columns),
      forward_weights_(ForwardSpec(rows), false) {
  if (spec.input_gradient) input_gradient_weights_.emplace(InputGradientSpec(rows), true);
}

void Linear::Pack(int job) {
  PackedWeights& packed = job == 0 ? forward_weights_ : *input_gradient_weights_;
  packed.Pack(parameters_->weights(spec_.weight));
}

GemmSpec Linear::ForwardSpec(std::int64_t rows) const {
  return {.m = rows, .n = out_, .k = in_, .bias = spec_.bias.has_value(), .relu = spec_.relu};
}

GemmSpec Linear::InputGradientSpec(std::int64_t rows) const {
  return {.m = rows, .n = in_, .k = out_, .accumulate = spec_.add_input_gradient};
}

GemmSpec Linear::WeightGradientSpec(std::int64_t rows, Accumulate accumulate) const {
  return {.m = in_, .n = out_, .k = rows, .accumulate = accumulate == Accumulate::kYes};
}

LinearRunner::Products& LinearRunner::ForRows(std::int64_t rows) {
  ++uses_;
  auto found =
      std::find_if(products_.begin(), products_.end(), [&](const Products& p) { return p.rows == rows; });
  if (found == products_.end()) {
    if (products_.size() < kRowCountsKept) {
      found = products_.emplace(products_.end());
    } else {
      found = std::min_element(products_.begin(), products_.end(),
                               [](const Products& a, const Products& b) { return a.last_use < b.last_use; });
      *found = Products();
    }
    found->rows = rows;
  }
  found->last_use = uses_;
  return *found;
}

Gemm& LinearRunner::MadeForward(std::int64_t rows) {
  auto& gemm = ForRows(rows).forward;
  if (!gemm) gemm = Gemm::WithWeights(linear_->ForwardSpec(rows), linear_->forward_weights_, *scratch_);
  return *gemm;
}

Gemm& LinearRunner::MadeInputGradient(std::int64_t rows) {
  HOTROW_CHECK(linear_->input_gradient_weights_.has_value());
  auto& gemm = ForRows(rows).input_gradient;
  if (!gemm) {
    gemm = Gemm::WithWeights(linear_->InputGradientSpec(rows), *linear_->input_gradient_weights_, *scratch_);
  }
  return *gemm;
}

Gemm& LinearRunner::MadeWeightGradient(std::int64_t rows, Accumulate accumulate) {
  auto& gemm = ForRows(rows).weight_gradient[accumulate == Accumulate::kYes ? 1 : 0];
  if (!gemm) gemm = Gemm::Transposed(linear_->WeightGradientSpec(rows, accumulate), *scratch_);
  return *gemm;
}

void LinearRunner::Prepare(std::int64_t rows, std::optional<Accumulate> backward) {
  MadeForward(rows);
  if (!backward) return;
  MadeWeightGradient(rows, *backward);
  if (linear_->spec().input_gradient) MadeInputGradient(rows);
}

const Gemm& LinearRunner::ForwardProduct(std::int64_t rows) { return MadeForward(rows); }
const Gemm& LinearRunner::InputGradientProduct(std::int64_t rows) { return MadeInputGradient(rows); }
const Gemm& LinearRunner::WeightGradientProduct(std::int64_t rows, Accumulate accumulate) {
  return MadeWeightGradient(rows, accumulate);
}

void LinearRunner::Forward(std::int64_t rows, const float* x, float* y) {
  const auto& bias = linear_->spec_.bias;
  MadeForward(rows).Run(x, bias ? linear_->parameters_->weights(*bias) : nullptr, y);
}

void LinearRunner::InputGradient(std::int64_t rows, const float* dz, float* dx) {
  MadeInputGradient(rows).Run(dz, nullptr, dx);
}

void LinearRunner::WeightGradient(std::int64_t rows, const float* x, const float* dz, Accumulate accumulate,
                                  float* gradient) {
  float* dw = gradient + At(*linear_->parameters_, linear_->spec_.weight).offset;
  MadeWeightGradient(rows, accumulate).RunTransposed(x, dz, dw);
}

float* LinearRunner::BiasGradient(float* gradient) const {
  const auto& bias = linear_->spec_.bias;
  return bias ? gradient + At(*linear_->parameters_, *bias).offset : nullptr;
}

LinearSpec AddLinear(Parameters& parameters, const std::string& prefix, std::int64_t in, std::int64_t out,
                     bool relu, std::int64_t in_padding) {
  LinearSpec spec;
  spec.weight = parameters.Add(prefix + ".weight", in, out, true, false, in_padding);
  spec.bias = parameters.Add(prefix + ".bias", 1, out, false, true);
  spec.relu = relu;
  return spec;
}

}  // namespace hotrow
