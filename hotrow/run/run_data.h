#pragma once
// The data of a run: what was said of it, opened.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hotrow/data/batch.h"
#include "hotrow/data/record_encoder.h"
#include "hotrow/data/synthetic.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/run/run_settings.h"

namespace hotrow {

/// Ids a sample of each feature of generated data: multi_hot, else mlperf's for bench's 26, else one.
std::vector<std::int32_t> BagSizes(const DataConfig& data, std::size_t features, bool of_bench = true);

/// The training files, or generated samples. Throws Error where settings are missing or contradict one
/// another.
DataSpec ResolveData(RunCommand command, const RunConfig& config);

/// Samples without end, as `bench` generates them.
SyntheticConfig ResolveSynthetic(const RunConfig& config);

/// What all ranks of a process train on and evaluate with.
struct TrainData {
  std::shared_ptr<const RecordEncoder> encoder;  ///< null: generated
  std::unique_ptr<BatchSource> source;
  std::unique_ptr<BatchSource> eval_source;  ///< null: none
};
/// `pipes`: no other process reads the same paths, so that they may be pipes, but for the evaluation data,
/// which are read at every evaluation.
TrainData OpenTrainData(const RunConfig& config, bool pipes = false);

/// What the features of a run's data are, without samples: their tables are what a plan is for. Training
/// files are read only where their vocabularies say how large tables are.
DataDescription DescribeData(RunCommand command, const RunConfig& config);

}  // namespace hotrow
