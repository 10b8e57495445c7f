#pragma once
// A saved model brought back for evaluation or prediction, with the data it is to see.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/data_flags.h"
#include "hotrow/train/trainer.h"

namespace CLI {
class App;
}

namespace hotrow::cli {

struct SavedModelFlags {
  CommonFlags common;
  DataFlags data;
  std::string model;
  std::int64_t batch_size = 4096;
  std::string bad_ids = "error";
};

void AddSavedModelFlags(CLI::App& app, SavedModelFlags& flags);

struct SavedModel {
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<BatchSource> source;
};

/// Loads the file's weights (without optimizer state) and opens --data with the encoder that training stored
/// in it. Throws Error where either cannot be read, they do not fit one another, or the model's file is
/// replaced meanwhile.
SavedModel OpenSavedModel(const SavedModelFlags& flags, bool need_labels, ThreadPool& pool);

}  // namespace hotrow::cli
