# Every dependency is a Debian package; docs/ARCHITECTURE.md says what each is for. Nothing is downloaded.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
# Debian's dnnl-config.cmake asks for OpenCL, which the CPU engine does not need: the library is found by name.
find_library(HOTROW_DNNL dnnl REQUIRED)
find_path(HOTROW_DNNL_INCLUDE dnnl.hpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(ZLIB REQUIRED)
find_library(HOTROW_HWY hwy REQUIRED)
find_library(HOTROW_XXHASH xxhash REQUIRED)
find_path(HOTROW_RANDOM123_INCLUDE Random123/philox.h REQUIRED)

add_library(hotrow_third_party INTERFACE)
target_link_libraries(hotrow_third_party INTERFACE
  ${HOTROW_DNNL} OpenMP::OpenMP_CXX nlohmann_json::nlohmann_json tomlplusplus::tomlplusplus ZLIB::ZLIB
  ${HOTROW_HWY} ${HOTROW_XXHASH})

# SIMD targets compiled into every Highway file: the ones that differ in practice. AVX3 is Skylake's AVX-512; the
# remaining targets add build time, not speed, for the operations used here.
target_compile_definitions(hotrow_third_party INTERFACE
  "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_AVX3_DL)")
