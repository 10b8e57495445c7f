#include "hotrow/embed/row_layout.h"

namespace hotrow {

RowLayout MakeRowLayout(std::int64_t dim, OptimizerKind optimizer) {
  const std::int64_t state = StateWidth(optimizer, dim);
  RowLayout layout{.dim = dim};
  if (optimizer == OptimizerKind::kRowWiseAdagrad) layout.apart = state;
  layout.together = CheckedAdd(dim, state - layout.apart);
  layout.stride = layout.together;
  for (const std::int64_t unit : {16, 4}) {
    const std::int64_t padded = RoundUp(layout.together, unit);
    if ((padded - layout.together) * 16 > layout.together) continue;
    layout.stride = padded;
    break;
  }
  return layout;
}

}  // namespace hotrow
