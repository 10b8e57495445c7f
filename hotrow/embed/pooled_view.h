#pragma once
// Where pooled rows go, or their gradients come from.

#include <cstdint>
#include <span>
#include <vector>

namespace hotrow {

/// Where one feature's pooled rows stand in an array.
struct PooledPlace {
  std::int64_t first = 0;   ///< float of sample 0
  std::int64_t stride = 0;  ///< floats from a sample to the next

  friend bool operator==(const PooledPlace&, const PooledPlace&) = default;
};

/// Feature f of sample s is at data[places[f].first + s * places[f].stride], as wide as its table.
/// Non-owning. With SampleMajorPlaces this is the tower's input itself, and nothing is concatenated; with
/// FeatureMajorPlaces the gradients that the tower leaves.
template <typename T>
struct PooledView {
  T* data = nullptr;
  std::span<const PooledPlace> places;  ///< [F], the order of the batch's keys

  T* Row(std::int64_t feature, std::int64_t sample) const {
    const PooledPlace& place = places[static_cast<std::size_t>(feature)];
    return data + place.first + sample * place.stride;
  }
};

/// Features of widths dims[f] side by side in each sample's row, behind `before` other columns.
inline std::vector<PooledPlace> SampleMajorPlaces(std::span<const std::int64_t> dims, std::int64_t before) {
  std::int64_t stride = before;
  for (const std::int64_t dim : dims) stride += dim;
  std::vector<PooledPlace> places;
  for (const std::int64_t dim : dims) {
    places.push_back({before, stride});
    before += dim;
  }
  return places;
}

/// Feature after feature, [samples, dims[f]] each. Ranks want the same places, so `samples` is that of the
/// rank which has most. Reuses the memory of `places`.
inline void FeatureMajorPlaces(std::int64_t samples, std::span<const std::int64_t> dims,
                               std::vector<PooledPlace>& places) {
  places.clear();
  std::int64_t first = 0;
  for (const std::int64_t dim : dims) {
    places.push_back({first, dim});
    first += samples * dim;
  }
}

}  // namespace hotrow
