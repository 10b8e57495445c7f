// hotrow doctor: what this machine offers, and what would be slow and why.

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/cli11.h"
#include "cli/settings_flags.h"
#include "cli/targets.h"
#include "hotrow/base/size.h"
#include "hotrow/comm/mpi_session.h"
#include "hotrow/dense/gemm.h"
#include "hotrow/machine/cores.h"
#include "hotrow/machine/system.h"
#include "hotrow/optim/simd_target.h"
#include "hotrow/run/world.h"

namespace hotrow::cli {
namespace {

using Json = nlohmann::ordered_json;

// "always [madvise] never" -> "madvise"
std::string BracketedWord(const char* path) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    if (word.size() > 2 && word.front() == '[') return word.substr(1, word.size() - 2);
  }
  return "unknown";
}

bool CpuHas(const std::string& feature) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, 5, "flags") != 0) continue;
    return (line + " ").find(" " + feature + " ") != std::string::npos;
  }
  return false;
}

std::vector<std::string> Advice(const std::string& huge_pages, int cores, std::optional<double> quota,
                                int threads) {
  std::vector<std::string> advice;
  if (huge_pages == "never") {
    advice.push_back(
        "transparent huge pages are off: random row reads take up to twice the time; echo madvise > "
        "/sys/kernel/mm/transparent_hugepage/enabled");
  }
  if (!CpuHas("avx2"))
    advice.push_back("no AVX2: the tower's GEMMs and the embedding kernels run at SSE speed");
  if (threads > cores) {
    advice.push_back(fmt::format("{} threads share {} cores", threads, cores));
  } else if (quota && threads > UsableCores(cores, quota)) {
    advice.push_back(
        fmt::format("{} threads share a CPU quota of {:.4g}: when it is used up, all of them stand still",
                    threads, *quota));
  }
  if (threads > 8) {
    advice.push_back(
        "a batch has 8 reduction units by default and a unit is one thread's: threads beyond them idle "
        "in the tower; raise --reduction-units");
  }
  if (AvailableMemory() < 4 * kGiB) {
    advice.push_back("less than 4 GiB of memory are free: large tables need --tables lazy");
  }
  return advice;
}

int RunDoctor(const CLI::App& app) {
  const RunSettings settings = ReadCommandLine(app, kDoctor);
  const CommonConfig& flags = settings.config.common;
  CheckOutputs(settings);
  const std::string huge_pages = BracketedWord("/sys/kernel/mm/transparent_hugepage/enabled");
  const int cores = AffinityCores();
  const std::optional<double> quota = CpuQuota();
  std::string units;
  Json unit_list = Json::array();
  for (const char* unit : {"sse4_1", "avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16"}) {
    if (!CpuHas(unit)) continue;
    units += (units.empty() ? "" : " ") + std::string(unit);
    unit_list.push_back(unit);
  }
  const std::vector<std::string> advice = Advice(huge_pages, cores, quota, ThreadsOfProcess(flags));
  std::string text = fmt::format(
      "cpu            {}\ncores          {}{}\nvector units   {}\nkernels        {} (embedding, element-wise), "
      "{} (GEMM)\nhuge pages     {}\n"
      "memory         {:.1f} GiB, {:.1f} GiB free\nMPI            {}",
      CpuName(), cores, quota ? fmt::format(", a CPU quota of {:.4g}", *quota) : "",
      units.empty() ? "none known" : units, SimdTarget(), GemmCpuIsa(), huge_pages, GiB(TotalMemory()),
      GiB(AvailableMemory()), MpiAvailable() ? "in this build" : "not in this build");
  for (const std::string& line : advice) text += "\nslow: " + line;
  PrintResult(flags, text);
  WriteJson(flags, {{"command", "doctor"},
                    {"version", HOTROW_VERSION},
                    {"cpu", CpuName()},
                    {"cores", cores},
                    {"cpu_quota", quota ? Json(*quota) : Json(nullptr)},
                    {"threads", ThreadsOfProcess(flags)},
                    {"vector_units", unit_list},
                    {"kernels", SimdTarget()},
                    {"gemm_kernels", GemmCpuIsa()},
                    {"huge_pages", huge_pages},
                    {"memory_bytes", TotalMemory()},
                    {"available_memory_bytes", AvailableMemory()},
                    {"mpi", MpiAvailable()},
                    {"slow", advice}});
  return kDone;
}

}  // namespace

Command AddDoctorCommand(CLI::App& root) {
  CLI::App* app = root.add_subcommand("doctor", "What this machine offers, and what would be slow and why");
  AddSettings(*app, kDoctor);
  return {app, [app] { return RunDoctor(*app); }};
}

}  // namespace hotrow::cli
