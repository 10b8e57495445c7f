#include "hotrow/embed/table_config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "hotrow/base/error.h"
#include "hotrow/base/printable.h"
#include "hotrow/base/size.h"

namespace hotrow {

namespace {

// The number in "NAME(NUMBER)"; none where the text is something else.
std::optional<float> NumberIn(const std::string& text, const std::string& name) {
  if (!text.starts_with(name + "(") || !text.ends_with(")")) return std::nullopt;
  const char* begin = text.data() + name.size() + 1;
  const char* end = text.data() + text.size() - 1;
  float value = 0.0F;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value) || value <= 0.0F) return std::nullopt;
  return value;
}

}  // namespace

TableInit ParseTableInit(const std::string& text) {
  if (text == "default") return {};
  if (text == "zeros") return {InitKind::kZeros};
  if (const auto bound = NumberIn(text, "uniform")) return {InitKind::kUniform, *bound};
  if (const auto deviation = NumberIn(text, "normal")) return {InitKind::kNormal, *deviation};
  Fail(
      "unknown initial values {}, must be one of: default, uniform(A), normal(STD), zeros, with A and STD above 0",
      Quoted(text));
}

std::string ToString(const TableInit& init) {
  switch (init.kind) {
    case InitKind::kDefault:
      return "default";
    case InitKind::kUniform:
      return fmt::format("uniform({})", init.value);
    case InitKind::kNormal:
      return fmt::format("normal({})", init.value);
    case InitKind::kZeros:
      return "zeros";
  }
  HOTROW_CHECK(false);
  return {};
}

PoolingType ParsePoolingType(const std::string& text) {
  if (text == "sum") return PoolingType::kSum;
  if (text == "mean") return PoolingType::kMean;
  Fail("unknown pooling '{}', must be one of: sum, mean", text);
}

std::string ToString(PoolingType pooling) { return pooling == PoolingType::kMean ? "mean" : "sum"; }

void SetOptimizer(std::vector<EmbeddingTableConfig>& tables, const OptimizerConfig& optimizer) {
  for (EmbeddingTableConfig& table : tables) table.optimizer = optimizer;
}

void Validate(const std::vector<EmbeddingTableConfig>& tables) {
  std::set<std::string> names;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const EmbeddingTableConfig& table = tables[t];
    if (table.name.empty()) Fail("embedding table {}: name is empty", t);
    if (!names.insert(table.name).second) {
      Fail("embedding table {}: name '{}' is taken by another table", t, table.name);
    }
    if (table.num_embeddings < 1) {
      Fail("embedding table '{}': num_embeddings is {}, must be >= 1", table.name, table.num_embeddings);
    }
    if (table.embedding_dim < 1) {
      Fail("embedding table '{}': embedding_dim is {}, must be >= 1", table.name, table.embedding_dim);
    }
    CheckedMul(CheckedMul(table.num_embeddings, table.embedding_dim), 3 * sizeof(float));
    try {
      Validate(table.optimizer);
    } catch (const Error& error) {
      Fail("embedding table '{}': {}", table.name, error.what());
    }
    const bool has_value = table.init.kind == InitKind::kUniform || table.init.kind == InitKind::kNormal;
    if (has_value && !(std::isfinite(table.init.value) && table.init.value > 0.0F)) {
      Fail("embedding table '{}': initial values {}: the number must be finite and above 0", table.name,
           ToString(table.init));
    }
  }
}

std::vector<std::size_t> TablesOfFeatures(const std::vector<EmbeddingTableConfig>& tables,
                                          const std::vector<std::string>& feature_names) {
  std::map<std::string, std::size_t> table_of;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    for (const std::string& feature : tables[t].feature_names) {
      const auto [place, is_new] = table_of.emplace(feature, t);
      if (!is_new) {
        Fail("feature '{}' is looked up in two tables, '{}' and '{}'; it must have one", feature,
             tables[place->second].name, tables[t].name);
      }
      if (std::find(feature_names.begin(), feature_names.end(), feature) == feature_names.end()) {
        Fail("table '{}': feature '{}' is not among the batch's features", tables[t].name, feature);
      }
    }
  }
  std::vector<std::size_t> out;
  for (const std::string& feature : feature_names) {
    const auto found = table_of.find(feature);
    if (found == table_of.end()) Fail("feature '{}' has no embedding table", feature);
    out.push_back(found->second);
  }
  return out;
}

}  // namespace hotrow
