#include "hotrow/dist/options.h"

#include "hotrow/base/error.h"

namespace hotrow {

RecatMode ParseRecatMode(const std::string& text) {
  for (const RecatMode mode : {RecatMode::kNone, RecatMode::kCpu, RecatMode::kSc, RecatMode::kTc}) {
    if (text == ToString(mode)) return mode;
  }
  Fail("unknown recat mode '{}', must be one of: none, cpu, sc, tc", text);
}

std::string ToString(RecatMode mode) {
  switch (mode) {
    case RecatMode::kNone:
      return "none";
    case RecatMode::kCpu:
      return "cpu";
    case RecatMode::kSc:
      return "sc";
    case RecatMode::kTc:
      return "tc";
  }
  return "";
}

IdBytes ParseIdBytes(const std::string& text) {
  if (text == "auto") return IdBytes::kAuto;
  if (text == "4") return IdBytes::k4;
  if (text == "8") return IdBytes::k8;
  Fail("unknown bytes of an id '{}', must be one of: auto, 4, 8", text);
}

int WireIdBytes(IdBytes choice, const std::string& table, std::int64_t rows) {
  if (choice == IdBytes::k8) return 8;
  if (rows < std::int64_t{1} << 31) return 4;
  if (choice == IdBytes::k4)
    Fail("ids of 4 bytes: table '{}' has {} rows, must be fewer than 2^31", table, rows);
  return 8;
}

OutputPermute ParseOutputPermute(const std::string& text) {
  if (text == "none") return OutputPermute::kNone;
  if (text == "cpu") return OutputPermute::kCpu;
  Fail("unknown output permute '{}', must be one of: none, cpu", text);
}

}  // namespace hotrow
