#include "hotrow/data/synthetic.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/rng.h"
#include "hotrow/base/size.h"
#include "hotrow/data/presets.h"
#include "hotrow/data/zipf.h"
#include "hotrow/machine/system.h"

namespace hotrow {
namespace {

// The random counter's 32-bit word holds the feature (upper half) and the pair of positions (lower half): a
// Philox call makes the 64 random bits of two ids.
constexpr std::int64_t kMaxFeatures = std::int64_t{1} << 16;
constexpr std::int64_t kMaxBag = std::int64_t{1} << 17;
constexpr std::uint32_t kLabelCounter = 0xffffffffU;  // beyond any dense column's
constexpr std::int64_t kSamplesATask = 128;

struct UniformRows {
  std::uint64_t rows;
  std::int64_t operator()(std::uint32_t hi, std::uint32_t lo) const {
    const std::uint64_t bits = (static_cast<std::uint64_t>(hi) << 32) | lo;
    return static_cast<std::int64_t>((static_cast<unsigned __int128>(bits) * rows) >> 64);
  }
};

struct ZipfIds {
  ZipfRows rows;
  std::int64_t operator()(std::uint32_t hi, std::uint32_t lo) const { return rows(UnitDouble(hi, lo)); }
};

// The bags of samples [begin, end) (counted from first_sample) of one feature.
template <typename Rows>
void FillIds(std::uint64_t key, std::uint32_t feature, std::int64_t first_sample, std::int64_t begin,
             std::int64_t end, std::int64_t bag, const Rows& rows, std::int64_t* out) {
  out += begin * bag;
  for (std::int64_t sample = begin; sample < end; ++sample) {
    for (std::int64_t position = 0; position < bag; position += 2) {
      const auto words =
          RandomWords(key, RandomStream::kSyntheticIds, static_cast<std::uint64_t>(first_sample + sample),
                      (feature << 16) | static_cast<std::uint32_t>(position / 2));
      *out++ = rows(words[0], words[1]);
      if (position + 1 < bag) *out++ = rows(words[2], words[3]);
    }
  }
}

}  // namespace

IdDistribution ParseIdDistribution(const std::string& text) {
  if (text == "uniform") return {};
  if (text.rfind("zipf:", 0) == 0) {
    double alpha = 0.0;
    const char* end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data() + 5, end, alpha);
    if (status == std::errc() && stop == end && std::isfinite(alpha) && alpha >= 0.0) return {alpha};
  }
  Fail("ids: '{}' is neither uniform nor zipf:ALPHA with a number ALPHA >= 0, such as zipf:1.05", text);
}

std::string ToString(const IdDistribution& distribution) {
  return distribution.zipf_alpha ? fmt::format("zipf:{}", *distribution.zipf_alpha) : "uniform";
}

SyntheticSource::SyntheticSource(SyntheticConfig config, ThreadPool* pool)
    : config_(std::move(config)), pool_(pool) {
  const auto features = static_cast<std::int64_t>(config_.rows.size());
  HOTROW_CHECK(config_.bag_sizes.size() == config_.rows.size() && config_.num_dense >= 0);
  if (features > kMaxFeatures)
    Fail("synthetic data: {} features; at most {} are possible", features, kMaxFeatures);
  names_ = NumberedNames("f", features);
  for (std::size_t f = 0; f < names_.size(); ++f) {
    if (config_.rows[f] < 1) Fail("feature '{}': {} rows; at least 1 is needed", names_[f], config_.rows[f]);
    if (config_.bag_sizes[f] < 0 || config_.bag_sizes[f] > kMaxBag) {
      Fail("feature '{}': {} ids a sample; valid are 0 to {}", names_[f], config_.bag_sizes[f], kMaxBag);
    }
    description_.features.push_back({names_[f], config_.rows[f], config_.bag_sizes[f]});
  }
  if (config_.samples && *config_.samples < 0) Fail("synthetic data: {} samples", *config_.samples);
  description_.num_dense = config_.num_dense;
  description_.samples = config_.samples;
}

void SyntheticSource::StartEpoch(std::int64_t /*epoch*/) {
  step_ = 0;
  next_sample_ = 0;
}

bool SyntheticSource::Next(std::int64_t max_samples, Batch& batch) {
  HOTROW_CHECK(max_samples >= 1);
  const std::int64_t left = config_.samples ? *config_.samples - next_sample_ : max_samples;
  const std::int64_t samples = std::min(max_samples, left);
  Fill(step_, next_sample_, samples, batch);
  if (samples == 0) return false;
  ++step_;
  next_sample_ += samples;
  return true;
}

void SyntheticSource::Seek(std::int64_t epoch, std::int64_t batches, std::int64_t max_samples) {
  StartEpoch(epoch);
  next_sample_ = CheckedMul(batches, max_samples);
  step_ = batches;
  if (!config_.samples || next_sample_ <= *config_.samples) return;
  next_sample_ = *config_.samples;
  step_ = CeilDiv(next_sample_, max_samples);
}

void SyntheticSource::Fill(std::int64_t step, std::int64_t first_sample, std::int64_t samples,
                           Batch& batch) const {
  if (!batch.sparse.is_fixed() || batch.sparse.keys() != names_ ||
      !std::equal(config_.bag_sizes.begin(), config_.bag_sizes.end(), batch.sparse.fixed_sizes().begin())) {
    batch.sparse = KeyedJaggedTensor(names_, config_.bag_sizes);
  }
  batch.first_sample = first_sample;
  batch.size = samples;
  batch.sparse.ResetFixed(samples);
  const auto floats = static_cast<std::size_t>(CheckedMul(samples, config_.num_dense));
  if (floats > batch.dense.capacity()) {
    NeedMemory(CheckedMul(static_cast<std::int64_t>(floats), sizeof(float)),
               fmt::format("the dense inputs of {} samples", samples));
  }
  batch.dense.resize(floats);
  batch.labels.resize(static_cast<std::size_t>(samples));
  batch.sample_weights.clear();
  const std::int64_t tasks = CeilDiv(samples, kSamplesATask);
  if (pool_ == nullptr || tasks < 2) {
    FillSamples(step, 0, samples, batch);
    return;
  }
  pool_->Run(tasks, [&](std::int64_t task, int /*thread*/) {
    FillSamples(step, task * kSamplesATask, std::min(samples, (task + 1) * kSamplesATask), batch);
  });
}

void SyntheticSource::FillSamples(std::int64_t step, std::int64_t begin, std::int64_t end,
                                  Batch& batch) const {
  const std::uint64_t key = config_.seed + 1 + static_cast<std::uint64_t>(step);
  std::int64_t* ids = batch.sparse.mutable_values().data();
  for (std::size_t f = 0; f < names_.size(); ++f) {
    const std::int64_t bag = config_.bag_sizes[f];
    const auto fill = [&](const auto& rows) {
      FillIds(key, static_cast<std::uint32_t>(f), batch.first_sample, begin, end, bag, rows, ids);
    };
    if (config_.ids.zipf_alpha) {
      fill(ZipfIds{ZipfRows(config_.rows[f], *config_.ids.zipf_alpha)});
    } else {
      fill(UniformRows{static_cast<std::uint64_t>(config_.rows[f])});
    }
    ids += bag * batch.size;
  }
  float* dense = batch.dense.data() + begin * config_.num_dense;
  for (std::int64_t sample = begin; sample < end; ++sample) {
    const auto global = static_cast<std::uint64_t>(batch.first_sample + sample);
    for (std::int64_t column = 0; column < config_.num_dense; column += 4) {
      const auto words = RandomWords(config_.seed, RandomStream::kSyntheticDense, global,
                                     static_cast<std::uint32_t>(column / 4));
      const std::int64_t count = std::min<std::int64_t>(4, config_.num_dense - column);
      for (std::int64_t i = 0; i < count; ++i) *dense++ = UnitFloat(words[static_cast<std::size_t>(i)]);
    }
    const auto words = RandomWords(config_.seed, RandomStream::kSyntheticDense, global, kLabelCounter);
    batch.labels[static_cast<std::size_t>(sample)] = static_cast<float>(words[0] >> 31);
  }
}

}  // namespace hotrow
