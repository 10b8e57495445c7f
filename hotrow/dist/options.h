#pragma once
// How ids and pooled rows travel: what a user may choose, none of which changes a bit of the result.

#include <cstdint>
#include <string>

namespace hotrow {

/// Who brings arrived ids from [source][feature][sample] into [feature][source][sample]; see dist/recat.h.
enum class RecatMode { kNone, kCpu, kSc, kTc };
/// "none", "cpu", "sc", "tc" and back; throws Error listing them.
RecatMode ParseRecatMode(const std::string& text);
std::string ToString(RecatMode mode);

/// Bytes of an id on the wire. kAuto: 4 where every table has fewer than 2^31 rows, else 8.
enum class IdBytes { kAuto, k4, k8 };
/// "auto", "4", "8"; throws Error listing them.
IdBytes ParseIdBytes(const std::string& text);
/// The bytes of an id, 4 or 8, where the largest table is named `table` and has `rows` rows. Throws Error for
/// k4 and more rows than fit.
int WireIdBytes(IdBytes choice, const std::string& table, std::int64_t rows);

/// Who restores the order of pooled columns. kNone: they are scattered in place. kCpu: they arrive in the
/// order of the ranks that own them and are permuted through a host buffer, forward and backward.
enum class OutputPermute { kNone, kCpu };
/// "none", "cpu"; throws Error listing them.
OutputPermute ParseOutputPermute(const std::string& text);

struct DistOptions {
  RecatMode recat = RecatMode::kNone;
  IdBytes id_bytes = IdBytes::kAuto;
  OutputPermute output_permute = OutputPermute::kNone;
};

}  // namespace hotrow
