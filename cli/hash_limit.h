#pragma once
// Up to which size of tables the hashes of weights and state are made without being asked for.

#include <cstdint>

namespace hotrow::cli {

/// Hashing reads every row; above this many bytes of tables (Trainer::TableBytes) it is done
/// only when asked for.
inline constexpr std::int64_t kHashedBytes = std::int64_t{8} << 30;

}  // namespace hotrow::cli
