#include "hotrow/measure/gemm_limit.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "hotrow/base/rng.h"
#include "hotrow/model/tower.h"
#include "hotrow/trace/phase.h"

namespace hotrow {
namespace {

// Numbers of the size that activations and weights have: zeros or denormals could run at another speed.
void FillRandom(float* data, std::int64_t size) {
  RandomSequence random(0, RandomStream::kSyntheticDense);
  float values[4096];
  for (float& value : values) value = 2.0F * UnitFloat(random.NextWord()) - 1.0F;
  for (std::int64_t i = 0; i < size; ++i) data[i] = values[i % 4096];
}

}  // namespace

// What one thread multiplies: the same operands for all layers, so that the caches are no worse off than in a
// step.
struct GemmLimit::Thread {
  Thread(const std::vector<Linear>& layers, std::int64_t rows) {
    std::int64_t widest = 0;
    for (const Linear& layer : layers) {
      runners.emplace_back(layer, scratch);
      widest = std::max({widest, layer.in(), layer.out()});
    }
    for (std::int64_t& array : arrays) array = arena.Add(rows * widest);
    arena.Allocate();
    FillRandom(arena.at(arrays[0]), rows * widest);
    FillRandom(arena.at(arrays[1]), rows * widest);
  }

  GemmScratch scratch;
  Arena arena;
  std::vector<LinearRunner> runners;
  std::int64_t arrays[3] = {};  // x, dz, and the result of a product
};

std::shared_ptr<const GemmLimit::Layers> GemmLimit::MakeLayers(Tower& tower) {
  const auto layers = std::make_shared<Layers>();
  for (const Linear* layer : tower.linears()) {
    LinearSpec spec = layer->spec();
    spec.relu = false;
    spec.add_input_gradient = false;
    layers->emplace_back(tower.parameters(), spec, tower.micro_batch());
    for (int job = 0; job < layers->back().num_packs(); ++job) layers->back().Pack(job);
  }
  return layers;
}

GemmLimit::GemmLimit(Tower& tower, std::shared_ptr<const Layers> layers, std::int64_t batch,
                     std::int64_t reduction_units, UnitGradients& gradients, ThreadPool& pool)
    : batch_(batch),
      units_(reduction_units),
      pool_(pool),
      micro_batch_(tower.micro_batch()),
      parameters_(tower.parameters()),
      layers_(std::move(layers)),
      gradients_(gradients) {
  HOTROW_CHECK(gradients.units() >= units_);
  HOTROW_CHECK(gradients.at(0).size() >= static_cast<std::size_t>(parameters_.padded_size()));
  const std::int64_t rows = std::min(micro_batch_, std::max<std::int64_t>(1, CeilDiv(batch, units_)));
  for (int thread = 0; thread < pool.size(); ++thread) {
    threads_.push_back(std::make_unique<Thread>(*layers_, rows));
  }
}

GemmLimit::~GemmLimit() = default;

void GemmLimit::Run(std::size_t layer, Product product, std::int64_t rows, Accumulate accumulate,
                    std::int64_t unit, Thread& thread) {
  LinearRunner& runner = thread.runners[layer];
  const float* x = thread.arena.at(thread.arrays[0]);
  const float* dz = thread.arena.at(thread.arrays[1]);
  float* result = thread.arena.at(thread.arrays[2]);
  switch (product) {
    case Product::kForward:
      runner.Forward(rows, x, result);
      break;
    case Product::kInputGradient:
      runner.InputGradient(rows, dz, result);
      break;
    case Product::kWeightGradient:
      runner.WeightGradient(rows, x, dz, accumulate, gradients_.at(unit).data());
      break;
  }
}

double GemmLimit::RunOnce() {
  const double start = NowSeconds();
  pool_.Run(units_, [&](std::int64_t unit, int thread_number) {
    Thread& thread = *threads_[static_cast<std::size_t>(thread_number)];
    const std::int64_t rows = EvenSlice(batch_, units_, unit).size();
    for (std::int64_t first = 0; first < rows; first += micro_batch_) {
      const std::int64_t m = std::min(micro_batch_, rows - first);
      const Accumulate accumulate = first == 0 ? Accumulate::kNo : Accumulate::kYes;
      for (std::size_t l = 0; l < layers_->size(); ++l) {
        Run(l, Product::kForward, m, accumulate, unit, thread);
      }
      for (std::size_t l = layers_->size(); l-- > 0;) {
        Run(l, Product::kWeightGradient, m, accumulate, unit, thread);
        if ((*layers_)[l].spec().input_gradient) Run(l, Product::kInputGradient, m, accumulate, unit, thread);
      }
    }
  });
  return NowSeconds() - start;
}

double GemmLimit::flop() const {
  double per_row = 0.0;
  for (const Linear& layer : *layers_) {
    per_row += layer.ForwardSpec(1).flop() * (layer.spec().input_gradient ? 3.0 : 2.0);
  }
  return per_row * static_cast<double>(batch_);
}

double GemmLimit::Measure(std::size_t layer, Product product, std::int64_t rows, double seconds) {
  const auto run = [&](std::int64_t tasks, std::int64_t times) {
    const double start = NowSeconds();
    pool_.Run(tasks, [&](std::int64_t, int thread) {
      for (std::int64_t i = 0; i < times; ++i) {
        Run(layer, product, rows, Accumulate::kNo, thread, *threads_[static_cast<std::size_t>(thread)]);
      }
    });
    return NowSeconds() - start;
  };
  const std::int64_t tasks = 4 * pool_.size();
  run(tasks, 1);
  // A task of a millisecond or more: claiming it costs nothing beside.
  const double once = run(tasks, 1) / 4.0;
  const auto times = static_cast<std::int64_t>(std::clamp(1e-3 / std::max(once, 1e-9), 1.0, 1e6));
  double best = run(tasks, times);
  for (double total = best; total < seconds;) {
    const double one = run(tasks, times);
    total += one;
    best = std::min(best, one);
  }
  return best / static_cast<double>(tasks * times);
}

std::vector<GemmReport> GemmLimit::Report(double seconds_each) {
  HOTROW_CHECK(gradients_.units() >= pool_.size());
  const std::int64_t rows = std::min(micro_batch_, std::max<std::int64_t>(1, CeilDiv(batch_, units_)));
  const auto accumulate = Accumulate::kNo;
  std::set<std::tuple<Product, std::int64_t, std::int64_t>> seen;
  std::vector<GemmReport> reports;
  for (std::size_t l = 0; l < layers_->size(); ++l) {
    const Linear& layer = (*layers_)[l];
    LinearRunner& runner = threads_[0]->runners[l];
    for (const Product product : {Product::kForward, Product::kInputGradient, Product::kWeightGradient}) {
      if (product == Product::kInputGradient && !layer.spec().input_gradient) continue;
      if (!seen.emplace(product, layer.in(), layer.out()).second) continue;
      const Gemm& gemm = product == Product::kForward ? runner.ForwardProduct(rows)
                         : product == Product::kInputGradient
                             ? runner.InputGradientProduct(rows)
                             : runner.WeightGradientProduct(rows, accumulate);
      const char* what = product == Product::kForward         ? "y"
                         : product == Product::kInputGradient ? "dx"
                                                              : "dw";
      const std::string& name = parameters_.list()[static_cast<std::size_t>(layer.spec().weight)].name;
      GemmReport report{.name = fmt::format("{} {}", name, what),
                        .m = gemm.spec().m,
                        .n = gemm.spec().n,
                        .k = gemm.spec().k,
                        .implementation = gemm.implementation(),
                        .is_reference = gemm.is_reference()};
      const double flop = gemm.spec().flop();
      report.gflops = flop / Measure(l, product, rows, seconds_each) * 1e-9;
      reports.push_back(std::move(report));
    }
  }
  return reports;
}

}  // namespace hotrow
