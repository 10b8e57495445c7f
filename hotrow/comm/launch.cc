#include <charconv>
#include <cstring>

#include "hotrow/comm/mpi_session.h"

namespace hotrow {
namespace {

struct Variables {
  const char* launcher;
  const char* rank;
  const char* size;
};

// Open MPI's mpirun sets PMIX_RANK too, so its own come first.
constexpr Variables kLaunchers[] = {{"Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                    {"a PMI launcher", "PMI_RANK", "PMI_SIZE"},
                                    {"Slurm's srun with PMIx", "PMIX_RANK", "SLURM_NTASKS"}};

std::optional<int> Number(const char* text) {
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  if (error != std::errc() || *end != '\0' || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Launch> DetectLaunch(FunctionRef<const char*(const char*)> lookup) {
  for (const Variables& variables : kLaunchers) {
    const auto rank = Number(lookup(variables.rank));
    const auto size = Number(lookup(variables.size));
    if (rank && size && *rank < *size) return Launch{variables.launcher, *rank, *size};
  }
  return std::nullopt;
}

}  // namespace hotrow
