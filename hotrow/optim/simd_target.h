#pragma once
// Which vector units the kernels use on this machine.

#include <string>

namespace hotrow {

/// Highway's name of the target that every kernel is dispatched to, e.g. "AVX3" (AVX-512), "AVX2".
std::string SimdTarget();

}  // namespace hotrow
