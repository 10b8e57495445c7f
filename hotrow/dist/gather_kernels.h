#pragma once
// The loops of the recat engines that gather by index, dispatched by CPU feature at run time.

#include <cstdint>

namespace hotrow {

/// out[i] = in[index[i]]. Writes past the caches where `out` is aligned for it: the result is larger than
/// they are.
void GatherElements(const std::uint32_t* in, const std::uint32_t* index, std::int64_t count,
                    std::uint32_t* out);
void GatherElements(const std::uint64_t* in, const std::uint32_t* index, std::int64_t count,
                    std::uint64_t* out);

/// padded[i, 16] = {in[index[i]], 0, ..., 0}.
void PadElements(const std::uint32_t* in, const std::uint32_t* index, std::int64_t count,
                 std::uint32_t* padded);
void PadElements(const std::uint64_t* in, const std::uint32_t* index, std::int64_t count,
                 std::uint64_t* padded);

/// Copies `count` vectors of 16 lanes.
void CopyPadded(const std::uint32_t* padded, std::int64_t count, std::uint32_t* out);
void CopyPadded(const std::uint64_t* padded, std::int64_t count, std::uint64_t* out);

/// out[i] = padded[i, 0].
void KeepLaneZero(const std::uint32_t* padded, std::int64_t count, std::uint32_t* out);
void KeepLaneZero(const std::uint64_t* padded, std::int64_t count, std::uint64_t* out);

}  // namespace hotrow
