// CsvSchema as JSON. Names of enumerators are the schema file's; a fitted vocabulary is a list in row order,
// or, where the lists are kept apart from the text, its length.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hotrow/base/error.h"
#include "hotrow/data/csv_schema.h"

namespace hotrow {

NLOHMANN_JSON_SERIALIZE_ENUM(DenseTransform, {{DenseTransform::kNone, "none"},
                                              {DenseTransform::kLog1p, "log1p"},
                                              {DenseTransform::kStandardize, "standardize"}})
NLOHMANN_JSON_SERIALIZE_ENUM(SparseEncoding, {{SparseEncoding::kVocabulary, "vocabulary"},
                                              {SparseEncoding::kHash, "hash"},
                                              {SparseEncoding::kInteger, "integer"}})
NLOHMANN_JSON_SERIALIZE_ENUM(MissingField, {{MissingField::kValue, "value"},
                                            {MissingField::kEmpty, "empty"},
                                            {MissingField::kError, "error"}})

namespace {

using Json = nlohmann::json;

// 2: sample_weight, and a feature's table and weights. 1 had none of them.
constexpr int kVersion = 2;

// JSON texts are UTF-8 and a CSV file may hold any bytes. A list with other bytes in it is written with every
// byte as the code point of its value.
bool IsUtf8(const std::vector<std::string>& texts) {
  try {
    static_cast<void>(Json(texts).dump());
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

std::string BytesAsCodePoints(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto c = static_cast<unsigned char>(byte);
    if (c < 0x80) {
      text += byte;
    } else {
      text += static_cast<char>(0xc0 | (c >> 6));
      text += static_cast<char>(0x80 | (c & 0x3f));
    }
  }
  return text;
}

std::string CodePointsAsBytes(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x80 && i + 1 < text.size()) {
      bytes += static_cast<char>(((c & 0x03) << 6) | (static_cast<unsigned char>(text[++i]) & 0x3f));
    } else {
      bytes += text[i];
    }
  }
  return bytes;
}

Json Texts(const std::vector<std::string>& texts) {
  if (IsUtf8(texts)) return texts;
  Json bytes = Json::array();
  for (const std::string& text : texts) bytes.push_back(BytesAsCodePoints(text));
  return Json{{"bytes", bytes}};
}

std::vector<std::string> Texts(const Json& json) {
  if (json.is_array()) return json.get<std::vector<std::string>>();
  std::vector<std::string> texts = json.at("bytes").get<std::vector<std::string>>();
  for (std::string& text : texts) text = CodePointsAsBytes(text);
  return texts;
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// The macros above read a word that they do not know as the first enumerator: a damaged or newer file would
// encode another way than its model was trained.
template <typename Enum>
Enum Named(const Json& json, const char* key) {
  const auto value = json.at(key).get<Enum>();
  if (Json(value) != json.at(key)) {
    Fail("CSV encoder: {} is {}, which this build does not know", key, json.at(key).dump());
  }
  return value;
}

char Separator(const Json& json) {
  const auto code = json.get<std::int64_t>();
  if (code < 1 || code > 255) Fail("CSV encoder: separator {} is not a byte's value, 1 to 255", code);
  return static_cast<char>(code);
}

std::optional<double> OptionalNumber(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

Json ToJsonValue(const DenseColumn& dense) {
  return {{"column", dense.column},
          {"scale", dense.scale},
          {"transform", dense.transform},
          {"mean", OrNull(dense.mean)},
          {"std", OrNull(dense.std)},
          {"missing", OrNull(dense.missing)},
          {"missing_is_mean", dense.missing_is_mean}};
}

DenseColumn DenseFrom(const Json& json) {
  DenseColumn dense;
  dense.column = json.at("column").get<std::string>();
  dense.scale = json.at("scale").get<double>();
  dense.transform = Named<DenseTransform>(json, "transform");
  dense.mean = OptionalNumber(json.at("mean"));
  dense.std = OptionalNumber(json.at("std"));
  dense.missing = OptionalNumber(json.at("missing"));
  dense.missing_is_mean = json.at("missing_is_mean").get<bool>();
  if (dense.std && !(*dense.std > 0.0)) {
    Fail("CSV encoder: column '{}' has a standard deviation of {}", dense.column, *dense.std);
  }
  return dense;
}

Json ToJsonValue(const SparseColumn& sparse, Vocabularies* apart) {
  Json vocabulary;
  if (apart == nullptr || sparse.vocabulary.empty()) {
    vocabulary = Texts(sparse.vocabulary);
  } else {
    vocabulary = sparse.vocabulary.size();
    apart->emplace(sparse.name, sparse.vocabulary);
  }
  return {
      {"column", sparse.column},
      {"name", sparse.name},
      {"encoding", sparse.encoding},
      {"rows", sparse.rows},
      {"min_count", sparse.min_count},
      {"separator", sparse.separator ? Json(static_cast<int>(static_cast<unsigned char>(*sparse.separator)))
                                     : Json(nullptr)},
      {"max_length", sparse.max_length},
      {"missing", sparse.missing},
      {"table", sparse.table},
      {"weights", sparse.weights},
      {"fitted", sparse.fitted},
      {"vocabulary", vocabulary}};
}

std::vector<std::string> VocabularyFrom(const Json& json, const std::string& feature,
                                        const Vocabularies& apart) {
  if (!json.is_number()) return Texts(json);
  const auto found = apart.find(feature);
  if (found == apart.end()) Fail("CSV encoder: the vocabulary of feature '{}' is missing", feature);
  if (json != found->second.size()) {
    Fail("CSV encoder: the vocabulary of feature '{}' has {} values, not {}", feature, found->second.size(),
         json.dump());
  }
  return found->second;
}

SparseColumn SparseFrom(const Json& json, int version, const Vocabularies& apart) {
  SparseColumn sparse;
  sparse.column = json.at("column").get<std::string>();
  sparse.name = json.at("name").get<std::string>();
  sparse.encoding = Named<SparseEncoding>(json, "encoding");
  sparse.rows = json.at("rows").get<std::int64_t>();
  sparse.min_count = json.at("min_count").get<std::int64_t>();
  if (!json.at("separator").is_null()) sparse.separator = Separator(json.at("separator"));
  sparse.max_length = json.at("max_length").get<std::int64_t>();
  sparse.missing = Named<MissingField>(json, "missing");
  sparse.fitted = json.at("fitted").get<bool>();
  sparse.vocabulary = VocabularyFrom(json.at("vocabulary"), sparse.name, apart);
  if (version > 1) {
    sparse.table = json.at("table").get<std::string>();
    sparse.weights = json.at("weights").get<std::string>();
  }
  return sparse;
}

// Features of one table have its first feature's vocabulary, and as many rows.
void CheckRows(const CsvSchema& schema) {
  for (std::size_t f = 0; f < schema.sparse.size(); ++f) {
    const SparseColumn& sparse = schema.sparse[f];
    const SparseColumn& first = schema.sparse[FirstOfTable(schema, f)];
    if (sparse.encoding != first.encoding || sparse.rows != first.rows || sparse.fitted != first.fitted ||
        (&sparse != &first && !sparse.vocabulary.empty())) {
      Fail("CSV encoder: features '{}' and '{}' share table '{}', but differ in its rows", first.name,
           sparse.name, first.TableName());
    }
    const auto values = static_cast<std::int64_t>(first.vocabulary.size());
    const bool vocabulary = sparse.encoding == SparseEncoding::kVocabulary;
    if (vocabulary ? (sparse.fitted && sparse.rows != values + 1) : sparse.rows < 1) {
      Fail("CSV encoder: feature '{}' has {} rows and a vocabulary of {}", sparse.name, sparse.rows, values);
    }
  }
}

}  // namespace

std::string ToJson(const CsvSchema& schema, Vocabularies* apart) {
  Json json = {{"format", "csv"},
               {"version", kVersion},
               {"separator", static_cast<int>(static_cast<unsigned char>(schema.separator))},
               {"quotes", schema.quotes},
               {"header", schema.header},
               {"columns", schema.columns},
               {"missing_values", schema.missing_values},
               {"label", ToString(schema.label)},
               {"sample_weight", schema.sample_weight},
               {"dense", Json::array()},
               {"sparse", Json::array()}};
  for (const DenseColumn& dense : schema.dense) json["dense"].push_back(ToJsonValue(dense));
  for (const SparseColumn& sparse : schema.sparse) json["sparse"].push_back(ToJsonValue(sparse, apart));
  return json.dump();
}

CsvSchema CsvSchemaFromJson(const std::string& text, const Vocabularies& apart) {
  try {
    const Json json = Json::parse(text);
    if (json.at("format") != "csv") Fail("CSV encoder: the format is {}", json.at("format").dump());
    const Json& version = json.at("version");
    if (version != 1 && version != kVersion) {
      Fail("CSV encoder: version {} is unknown to this build, which reads versions 1 to {}", version.dump(),
           kVersion);
    }
    CsvSchema schema;
    schema.separator = Separator(json.at("separator"));
    schema.quotes = json.at("quotes").get<bool>();
    schema.header = json.at("header").get<bool>();
    schema.columns = json.at("columns").get<std::vector<std::string>>();
    schema.missing_values = json.at("missing_values").get<std::vector<std::string>>();
    schema.label = ParseLabelRule(json.at("label").get<std::string>());
    if (version != 1) schema.sample_weight = json.at("sample_weight").get<std::string>();
    for (const Json& dense : json.at("dense")) schema.dense.push_back(DenseFrom(dense));
    for (const Json& sparse : json.at("sparse")) {
      schema.sparse.push_back(SparseFrom(sparse, version.get<int>(), apart));
    }
    CheckRows(schema);
    return schema;
  } catch (const Json::exception& error) {
    Fail("CSV encoder: damaged JSON: {}", error.what());
  }
}

}  // namespace hotrow
