#pragma once
// Names of enumerators, as users write them: one list is parsed, printed and told in messages.

#include <cstddef>
#include <string>
#include <string_view>

#include "hotrow/base/error.h"

namespace hotrow {

/// Lists of them are constexpr arrays: `kPoolingTypes[] = {{"sum", PoolingType::kSum}, …}`.
template <typename T>
struct Word {
  std::string_view text;
  T value;
};

/// "sum, mean".
template <typename T, std::size_t N>
std::string JoinWords(const Word<T> (&words)[N]) {
  std::string all;
  for (const Word<T>& word : words) all += (all.empty() ? "" : ", ") + std::string(word.text);
  return all;
}

/// The value of a word. Throws Error: "WHAT 'text' is none of sum, mean".
template <typename T, std::size_t N>
T ParseWord(const Word<T> (&words)[N], std::string_view what, std::string_view text) {
  for (const Word<T>& word : words) {
    if (word.text == text) return word.value;
  }
  Fail("{} {} is none of {}", what, Quoted(text), JoinWords(words));
}

/// The word of a value, which the list has.
template <typename T, std::size_t N>
std::string WordOf(const Word<T> (&words)[N], T value) {
  for (const Word<T>& word : words) {
    if (word.value == value) return std::string(word.text);
  }
  HOTROW_CHECK(false);
  return {};
}

}  // namespace hotrow
