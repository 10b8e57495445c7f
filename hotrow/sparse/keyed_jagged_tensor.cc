#include "hotrow/sparse/keyed_jagged_tensor.h"

#include <algorithm>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/machine/system.h"

namespace hotrow {
namespace {

// Out-of-range ids leave the sign bit set: of the id itself when it is negative, else of last - id. Only
// subtraction and OR, which every x86-64 vectorises for 64-bit lanes (a 64-bit compare it does not).
bool AllInRange(std::span<const std::int64_t> ids, std::int64_t rows) {
  const std::uint64_t last = static_cast<std::uint64_t>(rows) - 1;
  std::uint64_t bad = 0;
  for (const std::int64_t signed_id : ids) {
    const auto id = static_cast<std::uint64_t>(signed_id);
    bad |= id | (last - id);
  }
  return (bad >> 63) == 0;
}

std::int64_t SampleOf(const FeatureBags& bags, std::int64_t position) {
  if (bags.offsets.empty()) return position / bags.fixed_size;
  const auto after = std::upper_bound(bags.offsets.begin(), bags.offsets.end(), position);
  return after - bags.offsets.begin() - 1;
}

[[noreturn]] void FailOutOfRange(const std::string& key, std::int64_t sample, std::int64_t id,
                                 std::int64_t rows) {
  if (rows == 0)
    Fail("feature '{}', sample {}: id {} is out of range: the table has no rows", key, sample, id);
  Fail("feature '{}', sample {}: id {} is out of range; valid ids are 0 to {}", key, sample, id, rows - 1);
}

// Lengths [feature][sample] that are not negative and sum to the number of ids.
void CheckLengths(const std::vector<std::string>& keys, std::int64_t batch_size,
                  std::span<const std::int32_t> lengths, std::int64_t num_values) {
  std::int64_t end = 0;
  const std::int32_t* length = lengths.data();
  for (const std::string& key : keys) {
    for (std::int64_t sample = 0; sample < batch_size; ++sample, ++length) {
      if (*length < 0) Fail("feature '{}', sample {}: length {} is negative", key, sample, *length);
      end += *length;
      if (end > num_values) {
        Fail("feature '{}', sample {}: its {} ids would end at {}, but there are only {} ids", key, sample,
             *length, end, num_values);
      }
    }
  }
  if (end != num_values) {
    Fail("lengths sum to {}, but there are {} ids: {} ids follow the last bag, feature '{}', sample {}", end,
         num_values, num_values - end, keys.empty() ? "" : keys.back(), batch_size - 1);
  }
}

}  // namespace

KeyedJaggedTensor::KeyedJaggedTensor(std::vector<std::string> keys)
    : keys_(std::move(keys)), offsets_(keys_.size(), 0), starts_(keys_.size() + 1, 0) {}

KeyedJaggedTensor::KeyedJaggedTensor(std::vector<std::string> keys, std::vector<std::int32_t> fixed_sizes)
    : keys_(std::move(keys)),
      fixed_sizes_(std::move(fixed_sizes)),
      fixed_(true),
      starts_(keys_.size() + 1, 0) {
  if (fixed_sizes_.size() != keys_.size()) {
    Fail("{} bag sizes for {} features: each feature needs one", fixed_sizes_.size(), keys_.size());
  }
  for (std::size_t f = 0; f < keys_.size(); ++f) {
    if (fixed_sizes_[f] < 0) Fail("feature '{}': bag size {} is negative", keys_[f], fixed_sizes_[f]);
  }
}

void KeyedJaggedTensor::ResetFixed(std::int64_t batch_size, bool weighted) {
  HOTROW_CHECK(fixed_ && batch_size >= 0);
  std::int64_t total = 0;
  for (const std::int32_t size : fixed_sizes_) total = CheckedAdd(total, CheckedMul(batch_size, size));
  const auto count = Index(total);
  // All that can throw before anything changes: a tensor that was too large leaves the old one.
  const std::int64_t bytes = CheckedMul(total, static_cast<std::int64_t>(sizeof(std::int64_t)));
  if (count > values_.capacity()) NeedMemory(bytes, fmt::format("{} ids of {} samples", total, batch_size));
  values_.reserve(count);
  if (weighted) weights_.reserve(count);
  for (std::size_t f = 0; f < keys_.size(); ++f) starts_[f + 1] = starts_[f] + batch_size * fixed_sizes_[f];
  batch_size_ = batch_size;
  weighted_ = weighted;
  values_.resize(count);
  weights_.resize(weighted ? count : 0);
}

void KeyedJaggedTensor::ResetJagged(std::int64_t batch_size, std::span<const std::int32_t> lengths,
                                    std::span<const std::int64_t> values, std::span<const float> weights) {
  HOTROW_CHECK(!fixed_ && batch_size >= 0);
  const std::int64_t bags = CheckedMul(num_features(), batch_size);
  const auto num_values = static_cast<std::int64_t>(values.size());
  if (static_cast<std::int64_t>(lengths.size()) != bags) {
    Fail("{} lengths; {} features of {} samples need {}", lengths.size(), num_features(), batch_size, bags);
  }
  if (!weights.empty() && weights.size() != values.size()) {
    Fail("{} weights for {} ids: each id needs one", weights.size(), values.size());
  }
  CheckLengths(keys_, batch_size, lengths, num_values);
  // All that can throw before anything changes: lengths that were wrong leave the old tensor.
  offsets_.reserve(Index(num_features() * (batch_size + 1)));
  lengths_.reserve(lengths.size());
  values_.reserve(values.size());
  weights_.reserve(weights.size());
  offsets_.resize(Index(num_features() * (batch_size + 1)));
  std::int64_t start = 0;
  const std::int32_t* length = lengths.data();
  std::int64_t* offset = offsets_.data();
  for (std::size_t f = 0; f < keys_.size(); ++f) {
    starts_[f] = start;
    std::int64_t total = 0;
    for (std::int64_t sample = 0; sample < batch_size; ++sample, ++length) {
      *offset++ = total;
      total += *length;
    }
    *offset++ = total;
    start += total;
  }
  starts_.back() = start;
  batch_size_ = batch_size;
  weighted_ = !weights.empty();
  lengths_.assign(lengths.begin(), lengths.end());
  values_.assign(values.begin(), values.end());
  weights_.assign(weights.begin(), weights.end());
}

void KeyedJaggedTensor::AssignSlice(const KeyedJaggedTensor& of, Slice samples) {
  HOTROW_CHECK(&of != this && samples.begin >= 0 && samples.size() >= 0 && samples.end <= of.batch_size_);
  if (keys_ != of.keys_) keys_ = of.keys_;
  fixed_ = of.fixed_;
  fixed_sizes_ = of.fixed_sizes_;
  weighted_ = of.weighted_;
  batch_size_ = samples.size();
  starts_.assign(1, 0);
  lengths_.clear();
  offsets_.clear();
  values_.clear();
  weights_.clear();
  for (std::int64_t f = 0; f < of.num_features(); ++f) {
    const FeatureBags bags = of.feature(f);
    const std::int64_t begin = bags.begin(samples.begin);
    const auto count = Index(bags.begin(samples.end) - begin);
    const auto ids = bags.ids.subspan(Index(begin), count);
    values_.insert(values_.end(), ids.begin(), ids.end());
    if (weighted_) {
      const auto weights = bags.weights.subspan(Index(begin), count);
      weights_.insert(weights_.end(), weights.begin(), weights.end());
    }
    starts_.push_back(std::ssize(values_));
    if (fixed_) continue;
    const auto lengths =
        of.lengths().subspan(Index(f * of.batch_size_ + samples.begin), Index(samples.size()));
    lengths_.insert(lengths_.end(), lengths.begin(), lengths.end());
    for (std::int64_t sample = samples.begin; sample <= samples.end; ++sample)
      offsets_.push_back(bags.begin(sample) - begin);
  }
}

FeatureBags KeyedJaggedTensor::feature(std::int64_t f) const {
  HOTROW_CHECK(f >= 0 && f < num_features());
  const std::size_t start = Index(starts_[Index(f)]);
  const std::size_t count = Index(starts_[Index(f + 1)]) - start;
  FeatureBags bags;
  bags.ids = std::span(values_).subspan(start, count);
  if (weighted_) bags.weights = std::span(weights_).subspan(start, count);
  if (fixed_) {
    bags.fixed_size = fixed_sizes_[Index(f)];
  } else {
    bags.offsets = std::span(offsets_).subspan(Index(f * (batch_size_ + 1)), Index(batch_size_ + 1));
  }
  bags.samples = batch_size_;
  return bags;
}

BadIds ParseBadIds(const std::string& text) {
  if (text == "error") return BadIds::kError;
  if (text == "skip") return BadIds::kSkip;
  if (text == "wrap") return BadIds::kWrap;
  Fail("bad ids: '{}' is none of error, skip, wrap", text);
}

std::int64_t CheckIds(KeyedJaggedTensor& batch, std::span<const std::int64_t> rows, BadIds mode,
                      std::int64_t first_sample) {
  HOTROW_CHECK(static_cast<std::int64_t>(rows.size()) == batch.num_features());
  std::int64_t bad = 0;
  for (std::int64_t f = 0; f < batch.num_features(); ++f) {
    const FeatureBags bags = batch.feature(f);
    const std::int64_t n = rows[Index(f)];
    HOTROW_CHECK(n >= 0);
    if (bags.ids.empty() || (n > 0 && AllInRange(bags.ids, n))) continue;
    const std::span<std::int64_t> ids =
        batch.mutable_values().subspan(Index(bags.ids.data() - batch.values().data()), bags.ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::int64_t id = ids[i];
      if (id >= 0 && id < n) continue;
      ++bad;
      if (mode == BadIds::kError || (mode == BadIds::kWrap && n == 0)) {
        FailOutOfRange(batch.keys()[Index(f)], first_sample + SampleOf(bags, static_cast<std::int64_t>(i)),
                       id, n);
      }
      ids[i] = mode == BadIds::kSkip ? -1 : (id % n + n) % n;
    }
  }
  return bad;
}

}  // namespace hotrow
