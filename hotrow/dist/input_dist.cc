#include "hotrow/dist/input_dist.h"

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/comm/collectives.h"

namespace hotrow {

InputDist::InputDist(const ShardingPlan& plan, std::span<const TableShape> model, std::int64_t num_features,
                     const DistOptions& options, Communicator& comm, ThreadPool& pool)
    : comm_(comm),
      pool_(pool),
      routes_(MakeInputRoutes(plan, model, num_features, options.id_bytes, Index(comm.rank()))),
      engines_(options.recat) {
  HOTROW_CHECK(plan.world == comm.size());
}

void InputDist::Start(const KeyedJaggedTensor& batch, std::span<const std::int64_t> samples,
                      InputBatch& way) {
  HOTROW_CHECK(Index(batch.num_features()) == routes_.features.size());
  way.lengths_request_.Wait();
  way.payload_request_.Wait();
  std::vector<std::int64_t> asked;
  if (samples.empty()) samples = asked = AllGather(comm_, batch.batch_size());
  HOTROW_CHECK(samples.size() == routes_.ranks() && samples[routes_.rank] == batch.batch_size());
  way.has_lengths_ = !batch.is_fixed() || routes_.any_split();
  bag_sizes_.assign(routes_.features.size(), RecatShape::kJagged);
  for (std::size_t f = 0; f < bag_sizes_.size(); ++f) {
    if (batch.is_fixed() && !routes_.features[f].split) bag_sizes_[f] = batch.fixed_sizes()[f];
  }
  way.send_.Fill(batch, bag_sizes_, pool_);
  way.arrival_.Expect(samples, bag_sizes_, batch.is_weighted());
  way.has_lengths_ ? StartLengths(way) : StartPayload(way);
}

void InputDist::StartLengths(InputBatch& way) {
  Parts<std::int32_t> parts(comm_);
  for (int r = 0; r < comm_.size(); ++r) {
    const std::span<const std::int32_t> lengths = way.send_.lengths(Index(r));
    parts.Send(r, lengths);
    parts.Receive(r, way.arrival_.lengths(Index(r)));
    if (r != comm_.rank()) sent_bytes_ += static_cast<std::int64_t>(lengths.size_bytes());
  }
  way.lengths_request_ = parts.Start(comm_);
  way.lengths_pending_ = true;
}

void InputDist::StartPayload(InputBatch& way) {
  way.arrival_.MakeRoom(way.has_lengths_, pool_);
  Parts<std::byte> parts(comm_);
  for (int r = 0; r < comm_.size(); ++r) {
    const std::span<const std::byte> payload = way.send_.payload(Index(r));
    parts.Send(r, payload);
    parts.Receive(r, way.arrival_.payload(Index(r)));
    if (r != comm_.rank()) sent_bytes_ += std::ssize(payload);
  }
  way.payload_request_ = parts.Start(comm_);
}

void InputDist::Continue(InputBatch& way) {
  if (!way.lengths_pending_) return;
  way.lengths_request_.WaitReceived();
  way.lengths_pending_ = false;
  StartPayload(way);
}

void InputDist::Finish(InputBatch& way) {
  Continue(way);
  way.payload_request_.WaitReceived();
  way.arrival_.MakeBags(pool_);
}

}  // namespace hotrow
