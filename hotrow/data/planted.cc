#include "hotrow/data/planted.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/interrupted.h"
#include "hotrow/base/rng.h"
#include "hotrow/base/size.h"
#include "hotrow/data/metrics.h"
#include "hotrow/data/presets.h"
#include "hotrow/files/text_writer.h"
#include "hotrow/machine/system.h"

namespace hotrow {
namespace {

constexpr std::int64_t kMaxIds = 200;
constexpr double kZipfAlpha = 1.3;
constexpr double kBias = -1.1;          // three samples in ten are clicks
constexpr double kLogOddsSigma = 1.45;  // a ceiling near 0.81
constexpr double kLinearShare = 0.25;   // of the score's variance
constexpr double kSquareShare = 0.01;
constexpr double kSparseShare = 0.72;
constexpr double kPairShare = 0.02;
constexpr std::size_t kSquare = 3;    // this integer counts by its square, too
constexpr std::size_t kNegative = 1;  // this one goes down to -2, as Criteo's I2 does
constexpr std::int64_t kPilotSamples = 8192;

// Pairs of small tables: their products are seen often enough to be learnt.
struct Pair {
  std::size_t a, b;
};
constexpr std::array<Pair, 2> kPairs = {{{12, 18}, {8, 16}}};

// Streams of the generator, by what they make.
enum Salt : std::uint64_t { kDenseSalt = 1, kEffectSalt = 2, kFactorSalt = 3, kSampleSalt = 4 };

struct IntShape {
  double mean, sigma, missing;
};
// Of log x: from flags to counts in the thousands.
IntShape ShapeOf(std::size_t column) {
  const auto i = static_cast<double>(column);
  return {.mean = 0.5 + 0.25 * i, .sigma = 0.8 + 0.03 * i, .missing = column % 3 == 0 ? 0.15 : 0.0};
}

double Centred(double x, std::size_t column) {
  const IntShape shape = ShapeOf(column);
  return (std::log(std::max(x, -2.0) + 3.0) - std::log(std::exp(shape.mean) + 3.0)) / shape.sigma;
}

std::vector<double> Normals(std::uint64_t seed, std::uint64_t salt, std::uint32_t feature,
                            std::int64_t count) {
  RandomSequence random(MixSeed(seed, salt), RandomStream::kPlanted, feature);
  std::vector<double> values(Index(count));
  for (double& value : values) value = random.NextNormal();
  return values;
}

}  // namespace

PlantedModel::PlantedModel(PlantedConfig config) : config_(std::move(config)) {
  if (config_.rows.empty()) config_.rows = CardinalityPreset("mlperf", kMaxIds);
  if (config_.rows.size() != kCriteoSparse)
    Fail("planted data: {} features' rows; 26 are needed", config_.rows.size());
  double weight_squares = 0.0;
  for (std::size_t f = 0; f < kCriteoSparse; ++f) {
    const std::int64_t rows = config_.rows[f];
    if (rows < 1) Fail("planted data: feature C{} has {} rows; at least 1 is needed", f + 1, rows);
    zipf_.emplace_back(rows + 1, kZipfAlpha);  // the formula stops short of its last row
    effects_[f] = Normals(config_.seed, kEffectSalt, static_cast<std::uint32_t>(f), rows);
    // The more ids, the rarer each, the harder to learn, so the less they carry.
    const double weight = std::pow(static_cast<double>(rows) + 10.0, -0.9);
    for (double& effect : effects_[f]) effect *= weight;
    weight_squares += weight * weight;
  }
  for (auto& effects : effects_) {
    for (double& effect : effects) effect *= std::sqrt(kSparseShare / weight_squares);
  }
  const double factor = std::pow(kPairShare / static_cast<double>(kPairs.size()), 0.25);
  for (const Pair& pair : kPairs) {
    for (const std::size_t f : {pair.a, pair.b}) {
      factors_[f] = Normals(config_.seed, kFactorSalt, static_cast<std::uint32_t>(f), config_.rows[f]);
      for (double& value : factors_[f]) value *= factor;
    }
  }
  linear_ = Normals(config_.seed, kDenseSalt, 0, kCriteoDense);
  double linear_squares = 0.0;
  for (const double w : linear_) linear_squares += w * w;
  for (double& w : linear_) w *= std::sqrt(kLinearShare / linear_squares);

  // The drawn effects miss their intended variance by chance; samples nobody will see tell by how much.
  double sum = 0.0;
  double squares = 0.0;
  for (std::int64_t i = 1; i <= kPilotSamples; ++i) {
    const double score = Sample(-i).log_odds - kBias;
    sum += score;
    squares += score * score;
  }
  const double mean = sum / static_cast<double>(kPilotSamples);
  mean_ = mean;
  scale_ = kLogOddsSigma / std::sqrt(squares / static_cast<double>(kPilotSamples) - mean * mean);
}

PlantedSample PlantedModel::Sample(std::int64_t i) const {
  RandomSequence random(MixSeed(MixSeed(config_.seed, kSampleSalt), static_cast<std::uint64_t>(i)),
                        RandomStream::kPlanted, 0xffffffffU);
  PlantedSample sample;
  for (std::size_t c = 0; c < kCriteoDense; ++c) {
    const IntShape shape = ShapeOf(c);
    const double x = std::exp(shape.mean + shape.sigma * random.NextNormal());
    sample.missing_int[c] = random.NextDouble() < shape.missing;
    sample.ints[c] = static_cast<std::int64_t>(std::min(x, 1e9)) - (c == kNegative ? 2 : 0);
  }
  for (std::size_t f = 0; f < kCriteoSparse; ++f) {
    sample.ids[f] = std::min(zipf_[f](random.NextDouble()), config_.rows[f] - 1);
    sample.blank_id[f] = random.NextDouble() < 0.2 && sample.ids[f] == 0;
  }
  sample.log_odds = kBias + (RawScore(sample) - mean_) * scale_;
  sample.label = random.NextDouble() < 1.0 / (1.0 + std::exp(-sample.log_odds)) ? 1.0F : 0.0F;
  return sample;
}

double PlantedModel::RawScore(const PlantedSample& sample) const {
  double score = 0.0;
  for (std::size_t c = 0; c < kCriteoDense; ++c) {
    const double x = Centred(sample.missing_int[c] ? 0.0 : static_cast<double>(sample.ints[c]), c);
    score += linear_[c] * x;
    if (c == kSquare) score += std::sqrt(0.5 * kSquareShare) * x * x;
  }
  const auto id = [&](std::size_t f) { return Index(sample.ids[f]); };
  for (std::size_t f = 0; f < kCriteoSparse; ++f) score += effects_[f][id(f)];
  for (const Pair& pair : kPairs) score += factors_[pair.a][id(pair.a)] * factors_[pair.b][id(pair.b)];
  return score;
}

PlantedLayout ParsePlantedLayout(const std::string& text) {
  if (text == "criteo") return PlantedLayout::kCriteo;
  if (text == "csv") return PlantedLayout::kCsv;
  Fail("format: '{}' is neither criteo nor csv", text);
}

PlantedReport WritePlanted(const PlantedModel& model, std::int64_t first, std::int64_t samples,
                           PlantedLayout layout, const std::string& path,
                           const std::atomic<bool>* interrupted) {
  if (samples < 1) Fail("planted data: {} samples; at least 1 is needed", samples);
  // What the best AUC is computed from, and its sorted copy.
  NeedMemory(CheckedMul(samples, 3 * sizeof(double) + sizeof(float)),
             fmt::format("the true log-odds of {} samples", samples));
  TextWriter out(path);
  const char separator = layout == PlantedLayout::kCriteo ? '\t' : ',';
  if (layout == PlantedLayout::kCsv) {
    out.Print("label");
    for (std::size_t c = 0; c < kCriteoDense; ++c) out.Print(",I{}", c + 1);
    for (std::size_t f = 0; f < kCriteoSparse; ++f) out.Print(",C{}", f + 1);
    out.Print("\n");
  }
  std::vector<double> log_odds;
  std::vector<float> labels;
  log_odds.reserve(Index(samples));
  labels.reserve(Index(samples));
  for (std::int64_t i = first; i < first + samples; ++i) {
    ThrowIfInterrupted(interrupted);
    const PlantedSample sample = model.Sample(i);
    out.Print("{}", sample.label == 1.0F ? 1 : 0);
    for (std::size_t c = 0; c < kCriteoDense; ++c) {
      out.Print("{}", separator);
      if (!sample.missing_int[c]) out.Print("{}", sample.ints[c]);
    }
    for (std::size_t f = 0; f < kCriteoSparse; ++f) {
      out.Print("{}", separator);
      if (!sample.blank_id[f]) out.Print("{:08x}", sample.ids[f]);
    }
    out.Print("\n");
    log_odds.push_back(sample.log_odds);
    labels.push_back(sample.label);
  }
  PlantedReport report;
  report.samples = samples;
  report.label_rate = LabelRate(labels);
  report.best_auc = RocAuc(log_odds, labels);
  report.best_log_loss = LogLoss(log_odds, labels);
  for (double& z : log_odds) z = 1.0 / (1.0 + std::exp(-z));
  report.expected_best_auc = ExpectedAuc(log_odds);
  out.Finish();
  return report;
}

}  // namespace hotrow
