#pragma once
// Places of features whose columns and row stride are given.

#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/embed/pooled_view.h"

namespace hotrow::test {

inline std::vector<PooledPlace> PlacesAt(std::span<const std::int64_t> columns, std::int64_t stride) {
  std::vector<PooledPlace> places;
  for (const std::int64_t column : columns) places.push_back({column, stride});
  return places;
}

}  // namespace hotrow::test
