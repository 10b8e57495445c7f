#include "hotrow/run/saved_model.h"

#include "hotrow/base/error.h"
#include "hotrow/data/file_source.h"
#include "hotrow/files/file_stamp.h"
#include "hotrow/train/model_file.h"

namespace hotrow {

SavedModel OpenSavedModel(const RunConfig& run, bool need_labels, ThreadPool& pool) {
  if (run.files.model.empty()) Fail("--model: missing; it names a file that `hotrow train --save` wrote");
  if (run.data.files.empty()) Fail("--data: missing");
  const FileStamp stamp = StampOf(run.files.model);
  ModelFileInfo info = ReadModelInfo(run.files.model);
  SavedModel saved;
  saved.source =
      OpenFileSource(EncoderOf(info, run.files.model), {.paths = run.data.files,
                                                        .need_labels = need_labels,
                                                        .refuse_bad_ids = run.data.bad_ids == BadIds::kError,
                                                        .pipes = true});

  TrainerConfig config;
  config.model = std::move(info.model);
  SetOptimizer(config.model.tables, {.kind = OptimizerKind::kSgd});  // keeps no state
  config.dense_optimizer.kind = OptimizerKind::kSgd;
  config.bad_ids = run.data.bad_ids;
  config.storage = StorageKind::kEager;
  config.seed = run.common.seed;
  saved.trainer = std::make_unique<Trainer>(config, pool);
  LoadModel(*saved.trainer, run.files.model);
  // The weights of one model and the vocabularies of another fit one another in size.
  if (StampOf(run.files.model) != stamp) Fail("{}: changed while it was read", run.files.model);
  return saved;
}

}  // namespace hotrow
