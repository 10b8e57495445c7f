// What mpi_test.cc runs under mpirun, a process a rank: what differs from thread ranks, each of which has a
// copy of the dense weights and reads the data itself.

#include <fmt/core.h>

#include <stdexcept>
#include <string>

#include "hotrow/base/error.h"
#include "hotrow/comm/thread_ranks.h"
#include "hotrow/train/loop.h"
#include "hotrow/train/rank_source.h"
#include "tests/comm/mpi_main.h"
#include "tests/train/small_model.h"

namespace hotrow {
namespace {

void Require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

struct EpochsLeft {
  LoopResult result;
  std::uint64_t weights = 0;
  std::uint64_t state = 0;
};

// 101 samples: the last batch of an epoch is empty on most ranks.
EpochsLeft TrainEpochs(Communicator& comm) {
  SyntheticSource data(SmallData(101));
  SyntheticSource eval_data(SmallData(41, 8));
  RankSource source(data, 8, comm);
  RankSource eval(eval_data, 8, comm);
  ThreadPool pool(1);
  Trainer trainer(SmallTrainer(data.description()), comm, pool);
  EpochsLeft left;
  left.result = TrainLoop(trainer, source, &eval, {.epochs = 2, .batch_size = 20, .eval_every = 0.5}, {});
  left.weights = trainer.WeightsHash();
  left.state = trainer.StateHash();
  return left;
}

void CheckEpochs(Communicator& comm) {
  const EpochsLeft want = TrainEpochs(*MakeSoleRank());
  const EpochsLeft got = TrainEpochs(comm);
  Require(got.result.losses == want.result.losses, "other losses than one rank's");
  Require(got.weights == want.weights, "another weights_hash than one rank's");
  Require(got.state == want.state, "another state_hash than one rank's");
  Require(got.result.evaluations.size() == want.result.evaluations.size(),
          "other evaluations than one rank's");
  for (std::size_t i = 0; i < got.result.evaluations.size(); ++i)
    Require(got.result.evaluations[i].result.auc == want.result.evaluations[i].result.auc,
            "another AUC than one rank's");
}

// The last rank's copy of one dense weight is changed.
void CheckVerify(Communicator& comm) {
  SyntheticSource data(SmallData(101));
  ThreadPool pool(1);
  Trainer trainer(SmallTrainer(data.description()), comm, pool);
  const int odd = comm.size() - 1;
  if (comm.rank() == odd) *trainer.tower().parameters().weights(0) += 1.0F;
  try {
    trainer.Verify();
  } catch (const Error& error) {
    const bool named =
        std::string(error.what()).ends_with(fmt::format(": {}; all ranks must have the same", odd));
    Require(comm.size() == 2 || named, error.what());
    return;
  }
  throw std::runtime_error("Verify did not find the changed weight");
}

// A text file, say: how long it is shows at its end.
class StreamedPart final : public BatchSource {
 public:
  explicit StreamedPart(const SyntheticConfig& config) : inner_(config), description_(inner_.description()) {
    description_.samples.reset();
  }
  const DataDescription& description() const override { return description_; }
  void StartEpoch(std::int64_t epoch) override { inner_.StartEpoch(epoch); }
  bool Next(std::int64_t max_samples, Batch& batch) override { return inner_.Next(max_samples, batch); }

 private:
  SyntheticSource inner_;
  DataDescription description_;
};

void CheckRefused(BatchSource& data, BatchSource& eval_data, std::int64_t steps, const std::string& what,
                  Communicator& comm) {
  RankSource source(data, 8, comm);
  RankSource eval(eval_data, 8, comm);
  ThreadPool pool(1);
  Trainer trainer(SmallTrainer(data.description()), comm, pool);
  std::string found = "nothing";
  try {
    TrainLoop(trainer, source, &eval, {.epochs = 1, .batch_size = 20}, {});
  } catch (const Error& error) {
    found = error.what();
  }
  const bool named = found.starts_with(fmt::format("{}: 1 of {} ranks differ", what, comm.size()));
  if (!named || trainer.steps() != steps)
    throw std::runtime_error(
        fmt::format("{} after {} steps, where {} is wrong", found, trainer.steps(), what));
}

// The last rank's copy of the data is stale, or was not copied to its end.
void CheckOtherData(Communicator& comm) {
  const bool odd = comm.rank() == comm.size() - 1;
  SyntheticSource whole(SmallData(101));
  SyntheticSource short_copy(SmallData(odd ? 90 : 101));
  CheckRefused(short_copy, whole, 0, "the number of samples in the data", comm);
  StreamedPart short_stream(SmallData(odd ? 90 : 101));  // its fifth batch has 10 samples
  CheckRefused(short_stream, whole, 4, "the data, in batch 5 of the epoch", comm);
  StreamedPart shorter_stream(SmallData(odd ? 100 : 101));  // and this has no sixth
  CheckRefused(shorter_stream, whole, 5, "the data, in batch 6 of the epoch", comm);
  SyntheticSource stale(SmallData(101, odd ? 8 : 7));
  CheckRefused(stale, whole, 0, "the data, in batch 1 of the epoch", comm);
  CheckRefused(whole, stale, 6, "the data, in batch 1 of the epoch", comm);
}

int RunAll(Communicator& comm) {
  CheckEpochs(comm);
  CheckVerify(comm);
  CheckOtherData(comm);
  if (comm.rank() == 0) fmt::print("trained on {} ranks\n", comm.size());
  return 0;
}

}  // namespace
}  // namespace hotrow

int main() { return hotrow::RunMpiMain(hotrow::RunAll); }
