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

# MPI carries ranks across machines. Without it (AUTO: where it is not found) ranks are threads of one process.
set(HOTROW_WITH_MPI AUTO CACHE STRING "Ranks as MPI processes: AUTO, ON or OFF")
set_property(CACHE HOTROW_WITH_MPI PROPERTY STRINGS AUTO ON OFF)
set(HOTROW_HAS_MPI OFF)
if(HOTROW_WITH_MPI STREQUAL "AUTO" OR HOTROW_WITH_MPI)
  # The code uses the C interface; the C++ wrapper finds it, since the project has no C.
  set(MPI_CXX_SKIP_MPICXX ON)
  if(HOTROW_WITH_MPI STREQUAL "AUTO")
    find_package(MPI QUIET COMPONENTS CXX)
  else()
    find_package(MPI REQUIRED COMPONENTS CXX)
  endif()
  set(HOTROW_HAS_MPI ${MPI_CXX_FOUND})
endif()
message(STATUS "MPI ranks: ${HOTROW_HAS_MPI}")
