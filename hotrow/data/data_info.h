#pragma once
// What a data set holds, for `hotrow data info` and for judging a schema.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hotrow/data/batch.h"

namespace hotrow {

struct DenseInfo {
  double min = 0.0;
  double mean = 0.0;
  double max = 0.0;
};

struct FeatureInfo {
  std::string name;
  std::int64_t rows = 0;          ///< of its table
  std::int64_t ids = 0;           ///< all bags' sizes together
  std::int64_t distinct_ids = 0;  ///< among those inside the table
  std::int64_t out_of_range = 0;  ///< ids outside it
  std::int64_t min_bag = 0;
  std::int64_t max_bag = 0;
};

struct DataInfo {
  std::int64_t samples = 0;
  std::optional<double> label_rate;  ///< none: the data has no labels
  std::vector<DenseInfo> dense;      ///< after the transforms
  std::vector<FeatureInfo> features;
  std::vector<UnknownValues> unknown;  ///< of the features that have a vocabulary
};

/// Reads one epoch of a source that ends. Takes a bit of memory a row.
DataInfo InspectData(BatchSource& source);

}  // namespace hotrow
