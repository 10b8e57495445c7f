#pragma once
// From the engine's structures to the reference's.

#include <span>
#include <string>

#include "hotrow/data/batch.h"
#include "hotrow/reference/reference_trainer.h"
#include "hotrow/sparse/keyed_jagged_tensor.h"

namespace hotrow::reference {

/// The bags of one feature, walked from the batch's lengths and values alone.
Bags ToBags(const KeyedJaggedTensor& batch, std::int64_t feature);
Batch ToReference(const hotrow::Batch& batch);
Tensor ToTensor(std::vector<std::int64_t> shape, std::span<const float> values);

}  // namespace hotrow::reference
