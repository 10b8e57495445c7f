#include "hotrow/train/rank_source.h"

#include <xxhash.h>

#include <exception>
#include <span>
#include <utility>

#include "hotrow/comm/share.h"
#include "hotrow/plan/units_of_ranks.h"

namespace hotrow {
namespace {

// What rank 0 lets the other thread ranks see.
struct Published {
  const Batch* batch = nullptr;
  bool more = false;  // there was a batch
  bool failed = false;
};

template <typename T>
void CopyRows(const std::vector<T>& from, std::int64_t batch_size, Slice rows, std::vector<T>& to) {
  const std::int64_t width = batch_size > 0 ? std::ssize(from) / batch_size : 0;
  to.assign(from.begin() + rows.begin * width, from.begin() + rows.end * width);
}

void CopySlice(const Batch& batch, Slice samples, Batch& slice) {
  slice.first_sample = batch.first_sample + samples.begin;
  slice.size = samples.size();
  CopyRows(batch.dense, batch.size, samples, slice.dense);
  CopyRows(batch.labels, batch.size, samples, slice.labels);
  CopyRows(batch.sample_weights, batch.size, samples, slice.sample_weights);
  slice.sparse.AssignSlice(batch.sparse, samples);
}

template <typename T>
void Mix(std::uint64_t& digest, std::span<const T> data) {
  digest = XXH3_64bits_withSeed(data.data(), data.size_bytes(), digest);
}

std::uint64_t Digest(const Batch& batch, bool contents) {
  const std::int64_t place[] = {batch.first_sample, batch.size};
  std::uint64_t digest = 0;
  Mix<std::int64_t>(digest, place);
  if (!contents) return digest;
  Mix<float>(digest, batch.dense);
  Mix<float>(digest, batch.labels);
  Mix<float>(digest, batch.sample_weights);
  Mix(digest, batch.sparse.lengths());
  Mix(digest, batch.sparse.values());
  Mix(digest, batch.sparse.weights());
  return digest;
}

}  // namespace

RankSource::RankSource(BatchSource& source, std::int64_t reduction_units, Communicator& comm)
    : description_(source.description()), units_(reduction_units), comm_(comm) {
  description_.of_all_ranks = true;
  ValidateReductionUnits(reduction_units, comm.size());
  if (comm.leads_memory()) reader_.emplace(source);
}

void RankSource::StartEpoch(std::int64_t epoch) {
  if (reader_) reader_->StartEpoch(epoch);
  epoch_begins_ = true;
}

void RankSource::Seek(std::int64_t epoch, std::int64_t batches, std::int64_t global_samples) {
  if (reader_) reader_->Seek(epoch, batches, global_samples);
  epoch_begins_ = true;
}

std::vector<UnknownValues> RankSource::Unknown() const {
  return reader_ ? reader_->Unknown() : std::vector<UnknownValues>();
}

void RankSource::CopyOwn(const Batch& global, Batch& batch) const {
  CopySlice(global, SamplesOfRank(global.size, units_, comm_.size(), comm_.rank()), batch);
}

bool RankSource::Next(std::int64_t global_samples, Batch& batch) {
  if (comm_.size() == 1) return reader_->Next(global_samples, batch);
  if (comm_.shares_memory()) return NextShared(global_samples, batch);
  const bool more = reader_->Next(global_samples, global_);
  if (!more) return false;
  CopyOwn(global_, batch);
  // Contents once an epoch: on shuffled data that is a sample of all of it.
  batch.global_digest = Digest(global_, std::exchange(epoch_begins_, false));
  return true;
}

bool RankSource::NextShared(std::int64_t global_samples, Batch& batch) {
  Published mine;
  std::exception_ptr failure;
  if (reader_) {
    try {
      mine.more = reader_->Next(global_samples, global_);
    } catch (...) {
      failure = std::current_exception();
      mine.failed = true;
    }
    mine.batch = &global_;
  }
  Share<const Published> share(comm_, std::span<const Published>(&mine, 1));
  const Published read = share.spans()[0][0];
  if (read.more) CopyOwn(*read.batch, batch);
  share.Release();
  if (failure) std::rethrow_exception(failure);
  if (read.failed) throw Aborted();
  return read.more;
}

}  // namespace hotrow
