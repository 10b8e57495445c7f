#pragma once
// One number for all of a table's weights, or state, that shards can add up.

#include <cstdint>

#include "hotrow/embed/table.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

/// Sum modulo 2^64, over the rows and aligned 4-column groups of this shard, of XXH3-64 over 40 bytes:
/// XXH3-64 of the table's name, the row and the group of the whole table (64 bits each, native order), the
/// group's four weights, missing columns 0. Rows never trained are generated for it: lazy and eager tables
/// agree. Shards that make up a table add up to its hash. About 5 ns a group.
std::uint64_t HashWeights(const EmbeddingTable& table, ThreadPool& pool);

/// The same over optimizer state: plane p of it (Adagrad's h: 0; Adam's m: 0, v: 1) adds p << 56 to the
/// group. Row-wise Adagrad's h is group 0 of the shard that has column 0.
std::uint64_t HashState(const EmbeddingTable& table, ThreadPool& pool);

}  // namespace hotrow
