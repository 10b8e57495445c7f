#pragma once
// Public data sets are not part of the source tree; tests that read them run where they are.

#include <cstdlib>
#include <filesystem>
#include <string>

namespace hotrow {

/// The path of a file under $HOTROW_DATA_DIR, or under ../shared/data beside the source tree; "" when absent.
inline std::string SharedData(const std::string& name) {
  const char* variable = std::getenv("HOTROW_DATA_DIR");
  const std::filesystem::path directory =
      variable != nullptr ? std::filesystem::path(variable)
                          : std::filesystem::path(HOTROW_TEST_SOURCE_DIR) / ".." / ".." / "shared" / "data";
  const std::filesystem::path path = directory / name;
  return std::filesystem::exists(path) ? path.string() : "";
}

inline std::string ExamplePath(const std::string& name) {
  return (std::filesystem::path(HOTROW_TEST_SOURCE_DIR) / ".." / "examples" / name)
      .lexically_normal()
      .string();
}

}  // namespace hotrow
