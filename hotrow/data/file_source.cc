#include "hotrow/data/file_source.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/rng.h"
#include "hotrow/base/size.h"
#include "hotrow/machine/system.h"

namespace hotrow {
namespace {

// The records of all files, one after another, encoded.
class FileRecords {
 public:
  FileRecords(std::shared_ptr<const RecordEncoder> encoder, const FileSourceOptions& options)
      : encoder_(std::move(encoder)),
        paths_(options.paths),
        pipes_(options.pipes),
        unknown_(std::make_unique<UnknownCounter>(encoder_->description().features.size())),
        options_{options.need_labels, options.refuse_bad_ids, unknown_.get()} {
    HOTROW_CHECK(!paths_.empty());
    // The last of them is not found missing when the first are trained on. A pipe is opened once.
    for (const std::string& path : paths_) {
      const bool pipe = pipes_ && IsPipe(path);
      one_pass_ = one_pass_ || pipe;
      stamps_.push_back(pipe ? FileStamp{} : InputFile(path).stamp());
    }
    OpenFile(0);
  }

  void Restart() {
    if (one_pass_) Fail("{}: comes through a pipe, which is read once: one epoch is all there is", Name());
    unknown_->Clear();
    OpenFile(0);
  }
  bool has_labels() const { return has_.value().first; }
  bool has_sample_weights() const { return has_.value().second; }
  bool one_pass() const { return one_pass_; }
  const std::string& path() const { return paths_[file_]; }
  std::string Name() const {
    if (paths_.size() == 1) return paths_[0];
    return fmt::format("{} and {} more", paths_[0], paths_.size() - 1);
  }
  const RecordEncoder& encoder() const { return *encoder_; }

  // Appends the next sample; false behind the last file's last.
  bool Next(EncodedSamples& out) {
    if (!Skip()) return false;
    bound_->Encode(*reader_, out);
    return true;
  }

  // Goes on to the next record; false behind the last file's last.
  bool Skip() {
    while (!reader_->Next()) {
      if (records_ == 0) Fail("{}: the file has no samples", path());
      if (file_ + 1 == paths_.size()) return false;
      OpenFile(file_ + 1);
    }
    ++records_;
    return true;
  }

  std::vector<UnknownValues> Unknown() const {
    std::vector<UnknownValues> unknown;
    const std::vector<SparseFeature>& features = encoder_->description().features;
    for (std::size_t f = 0; f < features.size(); ++f) {
      const UnknownValues of = unknown_->Get(f, features[f].name);
      if (of.values > 0) unknown.push_back(of);
    }
    return unknown;
  }

 private:
  void OpenFile(std::size_t file) {
    file_ = file;
    records_ = 0;
    reader_ = std::make_unique<RecordReader>(path(), RecordFormat{}, pipes_);
    if (reader_->stamp() != stamps_[file]) Fail("{}: changed since it was first read", path());
    if (reader_->PeekLine().empty()) Fail("{}: the file is empty", path());
    bound_ = encoder_->Bind(*reader_, options_);
    const std::pair here(bound_->has_labels(), bound_->has_sample_weights());
    if (!has_) has_ = here;
    if (has_->first != here.first) {
      Fail("{} has {} label, unlike {}", path(), here.first ? "a" : "no", paths_.front());
    }
    if (has_->second != here.second) {
      Fail("{} has {} of the samples, unlike {}", path(), here.second ? "weights" : "no weights",
           paths_.front());
    }
  }

  std::shared_ptr<const RecordEncoder> encoder_;
  std::vector<std::string> paths_;
  std::vector<FileStamp> stamps_;  // what every epoch reads is the same
  bool pipes_;
  bool one_pass_ = false;
  std::unique_ptr<UnknownCounter> unknown_;
  BindOptions options_;
  std::optional<std::pair<bool, bool>> has_;  // labels, sample weights
  std::size_t file_ = 0;
  std::int64_t records_ = 0;
  std::unique_ptr<RecordReader> reader_;
  std::unique_ptr<BoundEncoder> bound_;
};

DataDescription DescriptionOf(const FileRecords& records) {
  DataDescription description = records.encoder().description();
  description.has_labels = records.has_labels();
  description.weighted_samples = records.has_sample_weights();
  description.name = records.Name();
  return description;
}

class StreamSource : public BatchSource {
 public:
  StreamSource(FileRecords records, std::function<std::int64_t()> available_memory)
      : records_(std::move(records)),
        available_memory_(std::move(available_memory)),
        description_(DescriptionOf(records_)),
        samples_(description_, [this](std::int64_t bytes) { NeedMemoryFor(bytes); }) {
    description_.one_pass = records_.one_pass();
  }

  const DataDescription& description() const override { return description_; }

  void StartEpoch(std::int64_t /*epoch*/) override {
    if (untouched_) return;  // the files were just opened
    records_.Restart();
    untouched_ = true;
    next_sample_ = 0;
    at_end_ = false;
  }

  bool Next(std::int64_t max_samples, Batch& batch) override {
    HOTROW_CHECK(max_samples >= 1);
    untouched_ = false;
    samples_.Clear();
    while (!at_end_ && samples_.size() < max_samples) at_end_ = !records_.Next(samples_);
    samples_.Gather(0, samples_.size(), {}, batch);
    batch.first_sample = next_sample_;
    next_sample_ += batch.size;
    return batch.size > 0;
  }

  // Records are split into fields, to know where the next begins, and not encoded.
  void Seek(std::int64_t epoch, std::int64_t batches, std::int64_t max_samples) override {
    StartEpoch(epoch);
    const std::int64_t samples = CheckedMul(batches, max_samples);
    untouched_ = samples == 0;
    while (next_sample_ < samples && !at_end_) {
      at_end_ = !records_.Skip();
      if (!at_end_) ++next_sample_;
    }
  }

  std::vector<UnknownValues> Unknown() const override { return records_.Unknown(); }

 private:
  void NeedMemoryFor(std::int64_t bytes) const {
    const std::int64_t available = available_memory_();
    if (available >= bytes) return;
    Fail("{}: a batch does not fit in memory ({} samples read, {:.1f} GiB left): try a smaller one",
         records_.path(), samples_.size(), GiB(available));
  }

  FileRecords records_;
  std::function<std::int64_t()> available_memory_;
  DataDescription description_;
  EncodedSamples samples_;
  std::int64_t next_sample_ = 0;
  bool at_end_ = false;
  bool untouched_ = true;
};

class ShuffledSource : public BatchSource {
 public:
  ShuffledSource(FileRecords records, const FileSourceOptions& options)
      : seed_(options.seed),
        available_memory_(options.available_memory),
        description_(DescriptionOf(records)),
        samples_(description_, [this](std::int64_t bytes) { NeedMemoryFor(bytes); }) {
    HOTROW_CHECK(options.max_shuffled <= std::numeric_limits<std::uint32_t>::max());
    while (records.Next(samples_)) {
      if (samples_.size() > options.max_shuffled) {
        Fail("{}: more than {} samples cannot be shuffled: without shuffling, files are streamed",
             description_.name, options.max_shuffled);
      }
    }
    description_.samples = samples_.size();
    unknown_ = records.Unknown();
    StartEpoch(0);
  }

  const DataDescription& description() const override { return description_; }

  void StartEpoch(std::int64_t epoch) override {
    next_ = 0;
    if (epoch == epoch_) return;
    epoch_ = -1;
    order_ = {};  // not beside the new one
    order_ = ShuffledOrder(seed_, epoch, samples_.size());
    epoch_ = epoch;
  }

  bool Next(std::int64_t max_samples, Batch& batch) override {
    HOTROW_CHECK(max_samples >= 1);
    const std::int64_t count = std::min(max_samples, samples_.size() - next_);
    samples_.Gather(
        next_, count,
        std::span(order_).subspan(static_cast<std::size_t>(next_), static_cast<std::size_t>(count)), batch);
    next_ += count;
    return count > 0;
  }

  void Seek(std::int64_t epoch, std::int64_t batches, std::int64_t max_samples) override {
    StartEpoch(epoch);
    next_ = std::min(CheckedMul(batches, max_samples), samples_.size());
  }

  std::vector<UnknownValues> Unknown() const override { return unknown_; }

 private:
  void NeedMemoryFor(std::int64_t bytes) {
    const std::int64_t available = available_memory_();
    if (available - std::min(bytes_, kMemoryReserve) < bytes) {
      Fail(
          "{}: its samples do not fit in memory ({} read, {:.1f} GiB left): without shuffling, files "
          "are streamed",
          description_.name, samples_.size(), GiB(available));
    }
    bytes_ += bytes;
  }

  std::uint64_t seed_;
  std::function<std::int64_t()> available_memory_;
  std::int64_t bytes_ = 0;  // of samples_
  DataDescription description_;
  EncodedSamples samples_;
  std::vector<UnknownValues> unknown_;
  std::int64_t epoch_ = -1;
  std::vector<std::uint32_t> order_;
  std::int64_t next_ = 0;
};

}  // namespace

std::vector<std::uint32_t> ShuffledOrder(std::uint64_t seed, std::int64_t epoch, std::int64_t n) {
  HOTROW_CHECK(n >= 0 && n <= std::numeric_limits<std::uint32_t>::max());
  NeedMemory(n * static_cast<std::int64_t>(sizeof(std::uint32_t)), fmt::format("the order of {} samples", n));
  std::vector<std::uint32_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0U);
  RandomSequence random(MixSeed(seed, static_cast<std::uint64_t>(epoch)), RandomStream::kShuffle);
  for (std::int64_t i = n - 1; i > 0; --i) {  // Fisher-Yates
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.NextBelow(i + 1))]);
  }
  return order;
}

std::unique_ptr<BatchSource> OpenFileSource(std::shared_ptr<const RecordEncoder> encoder,
                                            const FileSourceOptions& options) {
  if (options.paths.empty()) Fail("no data file given");
  FileRecords records(std::move(encoder), options);
  if (options.shuffle) return std::make_unique<ShuffledSource>(std::move(records), options);
  return std::make_unique<StreamSource>(std::move(records), options.available_memory);
}

}  // namespace hotrow
