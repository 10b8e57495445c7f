#include "hotrow/run/setting.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/data/parse.h"
#include "hotrow/files/path_list.h"

namespace hotrow {
namespace {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};

// CLI parsers read 0x10 and 010 in other bases, -1 as a large unsigned number, and take what overflows for
// the largest number: here an integer is decimal and fits.
template <typename T>
T ReadInteger(const Setting& setting, const std::string& text, const std::string& where) {
  const std::size_t sign = text.starts_with('+') || text.starts_with('-') ? 1 : 0;
  if (text.size() == sign || text.find_first_not_of("0123456789", sign) != std::string::npos) {
    Fail("{}: {} is not a decimal integer", where, Quoted(text));
  }
  constexpr T kLeast = std::numeric_limits<T>::min();
  constexpr T kMost = std::numeric_limits<T>::max();
  const T least = setting.least < static_cast<double>(kLeast) ? kLeast : static_cast<T>(setting.least);
  const T most = setting.most >= static_cast<double>(kMost) ? kMost : static_cast<T>(setting.most);
  T value = 0;
  const char* begin = text.data() + (text.front() == '+' ? 1 : 0);
  if (std::from_chars(begin, text.data() + text.size(), value).ec != std::errc() || value < least ||
      value > most) {
    Fail("{}: {} is out of range; valid are integers from {} to {}", where, Quoted(text), least, most);
  }
  return value;
}

template <typename T>
T ReadNumber(const Setting& setting, const std::string& text, const std::string& where) {
  const std::optional<double> value = ParseNumber(text);
  if (!value) Fail("{}: {} is not a decimal number", where, Quoted(text));
  if (!std::isfinite(*value) || std::abs(*value) > static_cast<double>(std::numeric_limits<T>::max())) {
    Fail("{}: {} is not a finite number", where, Quoted(text));
  }
  if (*value < setting.least || *value > setting.most) {
    Fail("{}: {} is out of range; valid are numbers {}", where, Quoted(text),
         std::isfinite(setting.most) ? fmt::format("from {} to {}", setting.least, setting.most)
                                     : fmt::format("of at least {}", setting.least));
  }
  return static_cast<T>(*value);
}

std::vector<std::string> Split(const std::string& list) {
  std::vector<std::string> items(1);
  for (const char c : list) {
    if (c == ',') {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  return items;
}

const std::string& NamesAFile(const std::string& text, const std::string& where, const char* what) {
  if (text.empty()) Fail("{}: the name of a {} is empty", where, what);
  return text;
}

const std::string& One(const std::vector<std::string>& words, const std::string& where) {
  if (words.size() != 1) Fail("{}: is given {} times; once is valid", where, words.size());
  return words.front();
}

template <typename T>
std::string Joined(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += fmt::format("{}{}", text.empty() ? "" : ",", value);
  return text;
}

}  // namespace

std::string_view TypeName(const Setting& setting) {
  return std::visit(
      Overloaded{[](Field<bool>) { return std::string_view(); },
                 [](Field<std::int64_t>) { return std::string_view("INT"); },
                 [](Field<std::uint64_t>) { return std::string_view("UINT"); },
                 [](Field<float>) { return std::string_view("FLOAT"); },
                 [](Field<std::optional<float>>) { return std::string_view("FLOAT"); },
                 [](Field<double>) { return std::string_view("FLOAT"); },
                 [](Field<std::vector<std::int64_t>>) { return std::string_view("INT"); },
                 [](const File& file) { return std::string_view(file.is_directory ? "DIR" : "FILE"); },
                 [](const Files&) { return std::string_view("FILE"); },
                 [](const auto&) { return std::string_view("TEXT"); }},
      setting.at);
}

bool IsList(const Setting& setting) {
  return std::holds_alternative<Files>(setting.at) ||
         std::holds_alternative<Field<std::vector<std::int64_t>>>(setting.at);
}

void Assign(const Setting& setting, const std::vector<std::string>& words, const std::string& where,
            RunConfig& config) {
  std::visit(
      Overloaded{
          [&](Field<bool> at) {
            const std::string& word = One(words, where);
            if (word != "true" && word != "false") {
              Fail("{}: {} is neither true nor false", where, Quoted(word));
            }
            at(config) = word == "true";
          },
          [&](Field<std::int64_t> at) {
            at(config) = ReadInteger<std::int64_t>(setting, One(words, where), where);
          },
          [&](Field<std::uint64_t> at) {
            at(config) = ReadInteger<std::uint64_t>(setting, One(words, where), where);
          },
          [&](Field<float> at) { at(config) = ReadNumber<float>(setting, One(words, where), where); },
          [&](Field<std::optional<float>> at) {
            at(config) = ReadNumber<float>(setting, One(words, where), where);
          },
          [&](Field<double> at) { at(config) = ReadNumber<double>(setting, One(words, where), where); },
          [&](Field<std::string> at) {
            const std::string& word = One(words, where);
            // A script's variable that is not set must not turn off what its author wanted.
            if (word.empty()) Fail("{}: is empty", where);
            at(config) = word;
          },
          [&](Field<std::vector<std::int64_t>> at) {
            std::vector<std::int64_t> values;
            for (const std::string& word : words) {
              for (const std::string& item : Split(word)) {
                values.push_back(ReadInteger<std::int64_t>(setting, item, where));
              }
            }
            at(config) = std::move(values);
          },
          [&](const File& file) {
            file.at(config) = NamesAFile(One(words, where), where, file.is_directory ? "directory" : "file");
          },
          [&](const Files& files) { files.at(config) = SplitPaths(where, words); },
          [&](const Choice& choice) {
            const std::string& word = One(words, where);
            if (!choice.set(config, word)) {
              Fail("{}: {} is none of {}", where, Quoted(word), choice.valid());
            }
          },
          [&](const Formed& formed) {
            try {
              formed.set(config, One(words, where));
            } catch (const Error& error) {
              Fail("{}: {}", where, error.what());
            }
          }},
      setting.at);
}

std::string TextOf(const Setting& setting, const RunConfig& config) {
  RunConfig& fields = const_cast<RunConfig&>(config);  // only read here
  return std::visit(Overloaded{[&](Field<bool> at) { return std::string(at(fields) ? "true" : "false"); },
                               [&](Field<std::vector<std::int64_t>> at) { return Joined(at(fields)); },
                               [&](Field<std::optional<float>> at) {
                                 return at(fields) ? fmt::format("{}", *at(fields)) : std::string();
                               },
                               [&](const File& file) { return file.at(fields); },
                               [&](const Files& files) { return Joined(files.at(fields)); },
                               [&](const Choice& choice) { return choice.get(fields); },
                               [&](const Formed& formed) { return formed.get(fields); },
                               [&](auto at) { return fmt::format("{}", at(fields)); }},
                    setting.at);
}

}  // namespace hotrow
