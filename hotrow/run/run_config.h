#pragma once
// A run as plain data: what flags, a TOML file or a caller in another language fill in. hotrow/run/settings.h
// names each field, hotrow/run/resolve.h turns all of it into what the engine takes.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hotrow/data/csv_schema.h"
#include "hotrow/data/open_source.h"
#include "hotrow/data/planted.h"
#include "hotrow/data/synthetic.h"
#include "hotrow/dist/options.h"
#include "hotrow/embed/embedding_bag_collection.h"
#include "hotrow/model/config.h"
#include "hotrow/optim/learning_rate_schedule.h"
#include "hotrow/optim/optimizer_config.h"
#include "hotrow/sparse/keyed_jagged_tensor.h"
#include "hotrow/train/loop.h"

namespace hotrow {

/// What every command has.
struct CommonConfig {
  std::int64_t threads = 0;  ///< compute threads of this process; 0: the cores it may run on
  std::uint64_t seed = 0;
  std::string json;  ///< file for the machine-readable result; "-" is stdout; empty: none
  bool quiet = false;
  std::string config;  ///< TOML whose values stand in for settings that were not given
};

/// Which samples.
struct DataConfig {
  std::vector<std::string> files;
  std::vector<std::string> eval_files;  ///< to evaluate on
  std::optional<DataFormat> format;     ///< none: FormatOf
  std::string schema_file;
  std::optional<CsvSchema> schema;  ///< what schema_file says, or the [data] table of the config
  bool shuffle = true;
  BadIds bad_ids = BadIds::kError;

  // Generated samples, and tables of formats that do not say how large theirs are.
  std::string cardinality = "tiny";
  std::int64_t max_rows = 0;  ///< 0: no cap
  std::string multi_hot;      ///< empty: mlperf's for its 26 features, else one
  IdDistribution ids;
  std::int64_t samples = 100'000;
};

/// One table's settings, or the defaults of all.
struct TableSettings {
  std::int64_t embedding_dim = 128;
  PoolingType pooling = PoolingType::kSum;
  OptimizerConfig optimizer;
  TableInit init;
};

/// What was said of one table: `keys`, names of settings, whose values stand in `values`.
struct TableOverride {
  std::string table;
  std::string where;  ///< "c.toml:12", for messages
  std::vector<std::string> keys;
  TableSettings values;
};

enum class Precision { kFp32 };

/// The tower. An empty dense arch is 512,256 and the embedding dim.
struct TowerConfig {
  Interaction interaction = Interaction::kCross;
  std::vector<std::int64_t> dense_arch;
  std::vector<std::int64_t> over_arch = {1024, 1024, 512, 256, 1};
  std::int64_t dcn_num_layers = 3;
  std::int64_t dcn_low_rank = 512;
  Precision precision = Precision::kFp32;  ///< of its GEMMs
};

/// The dense parameters' optimizer, where it differs from the tables'.
struct DenseConfig {
  std::optional<OptimizerKind> kind;   ///< none: the tables'; Adagrad for row-wise Adagrad
  std::optional<float> learning_rate;  ///< none: the tables'
  double clip_norm = 0;                ///< TrainerConfig::clip_norm
};

enum class StorageChoice { kAuto, kEager, kLazy };

/// Over which ranks, and how data moves.
struct PlacementConfig {
  std::int64_t ranks = 1;  ///< plan validate: 0 is the plan's
  std::string sharding = "column_wise";
  std::int64_t ranks_per_group = 0;  ///< grid; 0: about the square root
  DistOptions dist;
  BackwardKernel kernel = BackwardKernel::kFused;
  StorageChoice storage = StorageChoice::kAuto;
  std::int64_t reduction_units = 0;  ///< 0: 8, or as many more as the ranks need
  std::int64_t verify_every = 0;
};

/// Files that a run reads or writes beside its data; empty: none.
struct FilesConfig {
  std::string model;  ///< a saved one
  std::string save;
  std::string profile_dir;
  std::string plan;
  std::string out;
  std::string dump_inputs;
  bool logits = false;
};

enum class BenchPart { kStep, kSparse, kRecat, kAllToAll, kGemm };

struct BenchSettings {
  BenchPart part = BenchPart::kStep;
  std::int64_t per_chip_batch = 4096;
  std::int64_t steps = 50;
  std::int64_t warmup = 10;
  std::int64_t ranks_per_chip = 1;
  bool check = false;
  bool hash = false;
  bool limits = true;
};

/// A click log to make.
struct GenerateConfig {
  std::int64_t samples = 300'000;
  std::string test_out;
  std::int64_t test_samples = 50'000;
  PlantedLayout layout = PlantedLayout::kCriteo;
  std::string rows;  ///< empty: mlperf's, at most 200 each
};

/// Benchmarks measured in turn.
struct ExperimentSettings {
  std::string file;
  std::string log;          ///< empty: the source tree's
  std::int64_t rounds = 0;  ///< 0: what the file says
  bool dry_run = false;
};

struct RunConfig {
  CommonConfig common;
  DataConfig data;
  TableSettings tables;  ///< of all that nothing else is said of
  std::vector<TableOverride> table_overrides;
  TowerConfig tower;
  DenseConfig dense;
  LearningRateSchedule schedule;
  PlacementConfig placement;
  LoopConfig loop{.epochs = 1, .batch_size = 2048, .eval_every = 1};
  FilesConfig files;
  BenchSettings bench;
  GenerateConfig generate;
  ExperimentSettings experiment;
};

}  // namespace hotrow
