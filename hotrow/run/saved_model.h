#pragma once
// A saved model brought back for evaluation or prediction, with the data it is to see.

#include <memory>

#include "hotrow/data/batch.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/run/run_config.h"
#include "hotrow/train/trainer.h"

namespace hotrow {

struct SavedModel {
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<BatchSource> source;
};

/// Loads the weights (without optimizer state) of `config.files.model` and opens the data files with the
/// encoder that training stored in it. Throws Error where either cannot be read, they do not fit one another,
/// or the model's file is replaced meanwhile.
SavedModel OpenSavedModel(const RunConfig& config, bool need_labels, ThreadPool& pool);

}  // namespace hotrow
