#pragma once
// What a run says of one table alone, over what it says of all.
//
//   [[tables]]                  # in the --config file
//   name = "t_genres"           # the model's table: "t_" and the feature's name, or the name that features
//   share embedding_dim = 8           # any of pooling, optimizer, learning_rate, eps, beta1, beta2,
//   weight_decay, optimizer = "sgd"           #   weight_decay_mode, initial_accumulator and init too
//
// The same keys may stand in a [[data.sparse]] of the schema: they are its table's.

#include <string>
#include <vector>

#include "hotrow/data/batch.h"
#include "hotrow/run/run_config.h"

namespace hotrow {

/// The settings of the table of that name: those of all, and over them what was said of it. Throws Error
/// where one thing was said in two ways, or the result is no optimizer.
TableSettings SettingsOfTable(const RunConfig& config, const std::string& table);

/// Throws Error, which lists the tables there are, for what was said of a table that is not one of them.
void CheckTableOverrides(const RunConfig& config, const std::vector<std::string>& tables);

}  // namespace hotrow
