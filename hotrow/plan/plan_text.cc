#include "hotrow/plan/plan_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/printable.h"
#include "hotrow/plan/check_plan.h"
#include "hotrow/plan/rank_load.h"

namespace hotrow {
namespace {

using Line = std::vector<std::string>;

// 1234567 -> "1,234,567"
std::string Grouped(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}
std::string Count(std::int64_t n) { return Grouped(fmt::format("{}", n)); }
std::string Count(double n) {
  return std::abs(n) < 1e15 ? Grouped(fmt::format("{:.0f}", n)) : fmt::format("{:.3g}", n);
}

std::string Bytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1024.0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

// "0-7, 9"; ranks ascending, each once.
std::string RankList(const std::vector<std::int64_t>& ranks) {
  constexpr int kShownRanges = 8;
  std::string text;
  int ranges = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] - 1 == ranks[last]) ++last;
    if (++ranges > kShownRanges) return fmt::format("{}, … to {}", text, ranks.back());
    text += text.empty() ? "" : ", ";
    text += last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]);
    i = last + 1;
  }
  return text;
}

// Characters of UTF-8 text, as many as a terminal gives columns to in most scripts.
std::size_t Width(const std::string& text) {
  return Index(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// Lines as columns, flush left or right. The first line is the heading.
std::string Aligned(const std::vector<Line>& lines, const std::vector<bool>& left) {
  std::vector<std::size_t> widths(left.size(), 0);
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], Width(line[i]));
  }
  std::string text;
  for (const Line& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (i > 0) row += "  ";
      const std::string padding(widths[i] - Width(line[i]), ' ');
      row += left[i] ? line[i] + padding : padding + line[i];
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row;
    text += '\n';
  }
  return text;
}

Line RankLine(std::int64_t first, std::int64_t last, const RankLoad& load) {
  std::string columns = Count(load.narrowest);
  if (load.widest != load.narrowest) columns += fmt::format("-{}", Count(load.widest));
  return {first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last),
          Count(load.tables),
          Count(load.shards),
          load.shards == 0 ? "-" : fmt::format("{} x {}", Count(load.rows), columns),
          Bytes(load.weight_bytes),
          Bytes(load.state_bytes),
          Count(load.ids)};
}

struct RankRun {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool in_world = true;
  RankLoad load;
};

// Ranks in order. Neighbours that hold the same share a run, so that a large world of few shards prints in
// few lines; a rank outside the world shares none.
std::vector<RankRun> RankRuns(const std::map<std::int64_t, RankLoad>& loads, std::int64_t world) {
  std::vector<RankRun> runs;
  std::int64_t next = 0;  // the first rank of the world that no run has yet
  const auto add = [&](std::int64_t end, const RankLoad& load) {
    if (end <= next) return;
    if (!runs.empty() && runs.back().in_world && runs.back().load == load) {
      runs.back().last = end - 1;
    } else {
      runs.push_back({next, end - 1, true, load});
    }
    next = end;
  };
  const RankLoad idle;
  for (const auto& [rank, load] : loads) {
    if (rank >= 0) add(std::min(rank, world), idle);
    if (rank >= 0 && rank < world) {
      add(rank + 1, load);
    } else {
      runs.push_back({rank, rank, false, load});
    }
  }
  add(world, idle);
  return runs;
}

std::string RankTable(const std::map<std::int64_t, RankLoad>& loads, std::int64_t world) {
  std::vector<Line> lines = {
      {"rank", "tables", "shards", "rows x columns", "weights", "state", "ids a step"}};
  for (const RankRun& run : RankRuns(loads, world)) lines.push_back(RankLine(run.first, run.last, run.load));
  return Aligned(lines, std::vector<bool>(lines.front().size(), false));
}

// "8 of 4,000,000 x 16 on ranks 0-7": shards of one size together, those of the lowest rank first.
std::string DescribeShards(const TablePlan& table) {
  constexpr std::size_t kShownSizes = 4;
  std::vector<PlanShard> shards = table.shards;
  std::ranges::sort(shards, {},
                    [](const PlanShard& s) { return std::tuple(s.rank, s.first_column, s.first_row); });
  using Size = std::pair<std::int64_t, std::int64_t>;
  std::vector<Size> sizes;
  std::map<Size, std::pair<std::int64_t, std::vector<std::int64_t>>> by_size;  // how many, on which ranks
  for (const PlanShard& shard : shards) {
    const Size size(shard.rows, shard.columns);
    auto& [count, ranks] = by_size[size];
    if (count++ == 0) sizes.push_back(size);
    if (ranks.empty() || ranks.back() != shard.rank) ranks.push_back(shard.rank);
  }
  std::string text;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i == kShownSizes) return fmt::format("{}; … {} more sizes", text, sizes.size() - i);
    const auto& [count, ranks] = by_size[sizes[i]];
    text += fmt::format("{}{} of {} x {} on {} {}", i == 0 ? "" : "; ", count, Count(sizes[i].first),
                        Count(sizes[i].second), ranks.size() == 1 ? "rank" : "ranks", RankList(ranks));
  }
  return text.empty() ? "none" : text;
}

std::string TableTable(const ShardingPlan& plan) {
  std::vector<Line> lines = {{"table", "sharding", "rows x columns", "shards"}};
  for (const TablePlan& table : plan.tables) {
    std::string sharding = ToString(table.sharding);
    if (table.sharding == ShardingType::kGrid) sharding += fmt::format(" (groups of {})", table.group_size);
    lines.push_back({Printable(table.table), sharding,
                     fmt::format("{} x {}", Count(table.rows), Count(table.dim)), DescribeShards(table)});
  }
  return Aligned(lines, {true, true, false, true});
}

}  // namespace

std::string PlanToText(const ShardingPlan& plan, std::span<const TableShape> model,
                       std::int64_t global_batch) {
  const std::map<std::int64_t, RankLoad> loads = LoadPerRank(plan, model, global_batch);
  std::set<std::string> known;
  for (const TableShape& shape : model) known.insert(shape.name);
  const auto unknown = std::ranges::count_if(
      plan.tables, [&](const TablePlan& table) { return !known.contains(table.table); });
  RankLoad all;
  for (const auto& [rank, load] : loads) {
    all.weight_bytes += load.weight_bytes;
    all.state_bytes += load.state_bytes;
    all.ids += load.ids;
  }
  std::string text = fmt::format(
      "sharding plan: {} ranks, {} tables, {} of weights, {} of optimizer state; a step of {} samples "
      "looks up {} ids over all ranks\n\n{}\n{}",
      Count(plan.world), plan.tables.size(), Bytes(all.weight_bytes), Bytes(all.state_bytes),
      Count(global_batch), Count(all.ids), RankTable(loads, plan.world), TableTable(plan));
  if (unknown > 0) {
    text += fmt::format("\n{} tables are not in the model: their optimizer state and ids are not counted\n",
                        unknown);
  }
  try {
    Validate(plan);
  } catch (const Error& e) {
    text += fmt::format("\nnot valid: {}\n", e.what());
  }
  return text;
}

}  // namespace hotrow
