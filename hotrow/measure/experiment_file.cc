#include "hotrow/measure/experiment_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/join.h"
#include "hotrow/files/toml_file.h"
#include "hotrow/run/run_settings.h"
#include "hotrow/run/settings.h"

namespace hotrow {
namespace {

// Each takes a fraction of a second at least, and that every round.
constexpr std::size_t kMostConfigurations = 1000;
// Of a table: several times what bench has.
constexpr std::size_t kMostFlags = 200;

// A point of the sweep, or the flags of a [[configuration]].
using Flags = std::vector<BenchFlag>;

struct NamedFlags {
  std::string name;
  Flags flags;
  std::int64_t mpi = 0;
};

// The file under the path by which messages name it.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)), root_(ParseTomlFile("experiment", path_)) {}

  const toml::table& root() const { return root_; }

  std::string Where(const toml::node& node, std::string_view key) const {
    return fmt::format("{}:{}: {}", path_, node.source().begin.line, key);
  }

  void CheckKeys(const toml::table& table, const std::vector<std::string>& valid) const {
    for (const auto& [key, node] : table) {
      if (std::find(valid.begin(), valid.end(), key.str()) == valid.end()) {
        Fail("{}: unknown key, valid: {}", Where(node, key.str()), JoinNames(valid));
      }
    }
  }

  std::string Text(const toml::table& table, const std::string& key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return "";
    if (!node->is_string()) Fail("{}: is not a text", Where(*node, key));
    return node->as_string()->get();
  }

  std::int64_t Number(const toml::table& table, const std::string& key, std::int64_t lowest,
                      std::int64_t highest, std::int64_t otherwise) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return otherwise;
    const auto value = node->is_integer() ? node->as_integer()->get() : lowest - 1;
    if (value < lowest || value > highest) {
      Fail("{}: valid: a whole number from {} to {}", Where(*node, key), lowest, highest);
    }
    return value;
  }

  const toml::table* Table(const toml::table& table, const std::string& key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) Fail("{}: is not a table", Where(*node, key));
    return node->as_table();
  }

  /// The keys of a table of bench's flags with dashes, in the order of the file, and their nodes.
  std::vector<std::pair<std::string, const toml::node*>> FlagNodes(const toml::table& table) const {
    if (table.size() > kMostFlags) {
      Fail("{}:{}: {} flags; valid: at most {}", path_, table.source().begin.line, table.size(), kMostFlags);
    }
    std::vector<std::pair<std::string, const toml::node*>> flags;
    for (const auto& [key, node] : table) {
      std::string name(key.str());
      std::replace(name.begin(), name.end(), '_', '-');
      if (name == "json" || name == "quiet" || name == "help") {
        Fail("{}: is not for an experiment to set", Where(node, key.str()));
      }
      flags.emplace_back(std::move(name), &node);
    }
    const auto place = [](const toml::node* node) {
      return std::pair(node->source().begin.line, node->source().begin.column);
    };
    std::sort(flags.begin(), flags.end(),
              [&](const auto& a, const auto& b) { return place(a.second) < place(b.second); });
    return flags;
  }

  Flags ReadFlags(const toml::table* table) const {
    Flags flags;
    if (table == nullptr) return flags;
    for (const auto& [name, node] : FlagNodes(*table)) {
      flags.push_back({name, TomlWords(*node, Where(*node, name))});
    }
    return flags;
  }

 private:
  std::string path_;
  toml::table root_;
};

// `flags` with those of `over` in place of, or after, their own.
Flags Merged(Flags flags, const Flags& over) {
  for (const BenchFlag& flag : over) {
    const auto same =
        std::find_if(flags.begin(), flags.end(), [&](const BenchFlag& f) { return f.name == flag.name; });
    if (same != flags.end()) {
      same->value = flag.value;
    } else {
      flags.push_back(flag);
    }
  }
  return flags;
}

std::string Describe(const Flags& flags) {
  std::string text;
  for (const BenchFlag& flag : flags)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", flag.name, flag.value);
  return text;
}

// Every combination of the sweep's values, the last flag's changing fastest, for each of `named`
// configurations. One empty point without a sweep.
std::vector<Flags> ReadSweep(const Reader& reader, std::size_t named) {
  std::vector<Flags> points = {{}};
  const toml::table* sweep = reader.Table(reader.root(), "sweep");
  if (sweep == nullptr) return points;
  for (const auto& [name, node] : reader.FlagNodes(*sweep)) {
    const toml::array* values = node->as_array();
    if (values == nullptr || values->empty()) Fail("{}: is not a list of values", reader.Where(*node, name));
    if (values->size() > kMostConfigurations / (named * points.size())) {
      Fail("{}: more than {} configurations; valid: at most so many", reader.Where(*node, name),
           kMostConfigurations);
    }
    std::vector<Flags> longer;
    for (const Flags& point : points) {
      for (const toml::node& value : *values) {
        longer.push_back(point);
        longer.back().push_back({name, TomlWords(value, reader.Where(value, name))});
      }
    }
    points = std::move(longer);
  }
  return points;
}

// One without a name where the file has none.
std::vector<NamedFlags> ReadConfigurations(const Reader& reader, std::int64_t mpi) {
  const toml::node* node = reader.root().get("configuration");
  if (node == nullptr) return {{.name = "", .flags = {}, .mpi = mpi}};
  const toml::array* array = node->as_array();
  if (array == nullptr || array->empty() || !array->is_array_of_tables()) {
    Fail("{}: write [[configuration]] for each", reader.Where(*node, "configuration"));
  }
  if (array->size() > kMostConfigurations) {
    Fail("{}: {} of them; valid: at most {}", reader.Where(*node, "configuration"), array->size(),
         kMostConfigurations);
  }
  std::vector<NamedFlags> all;
  for (const toml::node& item : *array) {
    const toml::table& table = *item.as_table();
    reader.CheckKeys(table, {"name", "flags", "mpi"});
    NamedFlags named{.name = reader.Text(table, "name"),
                     .flags = reader.ReadFlags(reader.Table(table, "flags")),
                     .mpi = reader.Number(table, "mpi", 0, 1 << 20, mpi)};
    if (named.name.empty()) Fail("{}: a configuration needs a name", reader.Where(item, "configuration"));
    all.push_back(std::move(named));
  }
  return all;
}

// What becomes of an experiment's baseline: the index of the configuration that (configuration, point) is
// compared with, where all are in the order configuration, then point.
class Baselines {
 public:
  Baselines(const Reader& reader, const std::vector<NamedFlags>& named, const std::vector<Flags>& points)
      : named_(named), points_(points) {
    const toml::node* node = reader.root().get("baseline");
    if (node == nullptr) {
      if (points.size() > 1 && named.size() == 1) fixed_ = true;
      return;
    }
    if (node->is_table()) {
      ReadSwept(reader, *node->as_table());
    } else {
      ReadName(reader, *node);
    }
  }

  std::size_t Of(std::size_t configuration, std::size_t point) const {
    if (fixed_) return configuration_ * points_.size() + point_;
    if (swept_.empty()) return configuration_ * points_.size() + point;
    const Flags wanted = Merged(points_[point], swept_);
    const auto found = std::find(points_.begin(), points_.end(), wanted);
    return configuration * points_.size() + static_cast<std::size_t>(found - points_.begin());
  }

 private:
  void ReadSwept(const Reader& reader, const toml::table& table) {
    swept_ = reader.ReadFlags(&table);
    for (const Flags& point : points_) {
      const Flags wanted = Merged(point, swept_);
      if (!swept_.empty() && std::find(points_.begin(), points_.end(), wanted) != points_.end()) continue;
      Fail("{}: valid: flags of [sweep], each with one of its values", reader.Where(table, "baseline"));
    }
  }

  void ReadName(const Reader& reader, const toml::node& node) {
    const std::string name = reader.Text(reader.root(), "baseline");
    std::vector<std::string> valid;
    for (std::size_t c = 0; c < named_.size(); ++c) {
      if (named_[c].name.empty()) break;
      valid.push_back(named_[c].name);
      if (named_[c].name != name) continue;
      configuration_ = c;
      return;
    }
    for (std::size_t p = 0; p < points_.size() && valid.size() < 20 && named_[0].name.empty(); ++p) {
      valid.push_back(Describe(points_[p]));
      if (valid.back() != name) continue;
      point_ = p;
      fixed_ = true;
      return;
    }
    Fail("{}: \"{}\" is no configuration, valid: {}", reader.Where(node, "baseline"), name, JoinNames(valid));
  }

  const std::vector<NamedFlags>& named_;
  const std::vector<Flags>& points_;
  std::size_t configuration_ = 0;
  std::size_t point_ = 0;
  bool fixed_ = false;  // one point of the sweep for all
  Flags swept_;
};

void CheckNames(const std::string& path, const std::vector<Configuration>& all) {
  std::set<std::string> names;
  for (const Configuration& configuration : all) {
    if (!names.insert(configuration.name).second) {
      Fail("{}: two configurations are named \"{}\"", path, configuration.name);
    }
  }
}

}  // namespace

Experiment LoadExperiment(const std::string& path) {
  const Reader reader(path);
  reader.CheckKeys(reader.root(), {"name", "question", "rounds", "metric", "mpi", "baseline", "flags",
                                   "sweep", "configuration"});
  Experiment experiment{.name = reader.Text(reader.root(), "name"),
                        .question = reader.Text(reader.root(), "question"),
                        .rounds = reader.Number(reader.root(), "rounds", 1, 1000, 5),
                        .metric = reader.Text(reader.root(), "metric"),
                        .configurations = {}};
  if (experiment.name.empty()) Fail("{}: an experiment needs a name", path);
  const Flags common = reader.ReadFlags(reader.Table(reader.root(), "flags"));
  const std::vector<NamedFlags> named =
      ReadConfigurations(reader, reader.Number(reader.root(), "mpi", 0, 1 << 20, 0));
  const std::vector<Flags> points = ReadSweep(reader, named.size());
  if (points.size() == 1 && named.size() == 1 && named[0].name.empty()) {
    Fail("{}: nothing to compare: write [[configuration]] or [sweep]", path);
  }
  const Baselines baselines(reader, named, points);
  for (std::size_t c = 0; c < named.size(); ++c) {
    for (std::size_t p = 0; p < points.size(); ++p) {
      const std::string swept = Describe(points[p]);
      const char* between = named[c].name.empty() || swept.empty() ? "" : ", ";
      experiment.configurations.push_back({.name = named[c].name + between + swept,
                                           .flags = Merged(Merged(common, named[c].flags), points[p]),
                                           .mpi = named[c].mpi,
                                           .baseline = baselines.Of(c, p)});
    }
  }
  CheckNames(path, experiment.configurations);
  return experiment;
}

void CheckBenchFlags(const Experiment& experiment) {
  for (const Configuration& configuration : experiment.configurations) {
    std::vector<GivenFlag> given;
    for (const BenchFlag& flag : configuration.flags) {
      if (FindSetting(kBench, flag.name) == nullptr) {
        Fail("configuration \"{}\": --{} is no flag of bench", configuration.name, flag.name);
      }
      given.push_back({flag.name, {flag.value}});
    }
    try {
      RefuseUnread(ReadSettings(kBench, given));
    } catch (const Error& e) {
      Fail("configuration \"{}\": {}", configuration.name, e.what());
    }
  }
}

}  // namespace hotrow
