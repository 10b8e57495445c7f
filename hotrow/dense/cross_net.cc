#include "hotrow/dense/cross_net.h"

#include <fmt/core.h>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

class CrossNetRunner : public InteractionRunner {
 public:
  CrossNetRunner(const CrossNet& net, GemmScratch& scratch, Arena& arena, std::int64_t rows)
      : width_(net.out()), arena_(&arena) {
    for (const CrossNet::Layer& layer : net.layers()) {
      const std::int64_t rank = layer.v.out();
      layers_.push_back({LinearRunner(layer.v, scratch), LinearRunner(layer.w, scratch),
                         arena.Add(rows * rank), arena.Add(rows * width_), arena.Add(rows * width_)});
    }
    dv_ = arena.Add(rows * layers_.front().v.linear().out());
  }

  void Prepare(std::int64_t rows, std::optional<Accumulate> backward) override {
    for (Layer& layer : layers_) {
      layer.v.Prepare(rows, backward);
      layer.w.Prepare(rows, backward);
    }
  }

  const float* Forward(std::int64_t rows, const float* x0) override {
    const float* x = x0;
    for (Layer& layer : layers_) {
      float* next = arena_->at(layer.output);
      layer.v.Forward(rows, x, arena_->at(layer.v_out));
      layer.w.Forward(rows, arena_->at(layer.v_out), arena_->at(layer.u));
      CrossForward(x0, arena_->at(layer.u), x, rows * width_, next);
      x = next;
    }
    return x;
  }

  float* output_gradient() override { return arena_->at(layers_.back().output); }

  void Backward(std::int64_t rows, const float* x0, Accumulate accumulate, float* gradient,
                float* dx) override {
    // g, the gradient of x_{l+1}, becomes that of x_l by adding the path through V and W. At the first layer
    // x_l is x_0, whose gradient is being collected in dx: the sum goes on there.
    float* g = output_gradient();
    float* dv = arena_->at(dv_);
    for (std::size_t l = layers_.size(); l-- > 0;) {
      Layer& layer = layers_[l];
      const CrossBackwardTerms terms{.overwrite = l + 1 == layers_.size(), .add_gradient = l == 0};
      float* du = arena_->at(layer.u);
      CrossBackward(g, x0, rows, width_, terms, accumulate, du, dx, layer.w.BiasGradient(gradient));
      layer.w.WeightGradient(rows, arena_->at(layer.v_out), du, accumulate, gradient);
      layer.w.InputGradient(rows, du, dv);
      layer.v.WeightGradient(rows, l > 0 ? arena_->at(layers_[l - 1].output) : x0, dv, accumulate, gradient);
      layer.v.InputGradient(rows, dv, l > 0 ? g : dx);
    }
  }

 private:
  struct Layer {
    LinearRunner v;
    LinearRunner w;
    std::int64_t v_out;   // arena numbers: V x
    std::int64_t u;       // W V x + b, then its gradient
    std::int64_t output;  // x_{l+1}; the last one's becomes the gradient
  };
  std::int64_t width_;
  Arena* arena_;
  std::vector<Layer> layers_;
  std::int64_t dv_ = 0;
};

}  // namespace

CrossNet::CrossNet(Parameters& parameters, const std::string& prefix, std::int64_t width, std::int64_t rank,
                   std::int64_t num_layers, std::int64_t rows)
    : width_(width) {
  HOTROW_CHECK(num_layers >= 1);
  for (std::int64_t l = 0; l < num_layers; ++l) {
    LinearSpec v;
    v.weight = parameters.Add(fmt::format("{}.V_kernels.{}", prefix, l), width, rank, true, false);
    v.add_input_gradient = true;
    LinearSpec w;
    w.weight = parameters.Add(fmt::format("{}.W_kernels.{}", prefix, l), rank, width, true, false);
    w.bias = parameters.Add(fmt::format("{}.bias.{}", prefix, l), 1, width, false, true);
    layers_.push_back({Linear(parameters, v, rows), Linear(parameters, w, rows)});
  }
}

std::vector<Linear*> CrossNet::linears() {
  std::vector<Linear*> all;
  for (Layer& layer : layers_) {
    all.push_back(&layer.v);
    all.push_back(&layer.w);
  }
  return all;
}

std::unique_ptr<InteractionRunner> CrossNet::MakeRunner(GemmScratch& scratch, Arena& arena,
                                                        std::int64_t rows) const {
  return std::make_unique<CrossNetRunner>(*this, scratch, arena, rows);
}

}  // namespace hotrow
