#pragma once
// Criteo's click logs: a label, 13 integers, 26 categoricals of hexadecimal digits.
//
// Recognised from a file's first line, never configured:
//   separator  tab where the line has one, else comma
//   header     where a column is named I1 or C1 (in any case): columns may then stand in any order, others
//              (Id) are ignored, and a column "label" may be absent; CSV copies come like that
//   no header  40 columns: the label first; 39: no label (Kaggle's test file); 41: an Id before the label
//
// Integers: empty is 0, "260.0" is 260; a value x becomes log(x + 3), the transform of the MLPerf reference,
// where x below -2 counts as -2, since log(-3 + 3) is minus infinity. Categoricals: the hexadecimal value
// modulo the table's rows; empty is row 0. Features are named cat_0 … cat_25, as TorchRec names them.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hotrow/data/record_encoder.h"

namespace hotrow {

inline constexpr std::size_t kCriteoDense = 13;
inline constexpr std::size_t kCriteoSparse = 26;

class CriteoEncoder : public RecordEncoder {
 public:
  /// rows[f] >= 1 of the 26 tables; throws Error otherwise.
  explicit CriteoEncoder(std::vector<std::int64_t> rows);

  const DataDescription& description() const override { return description_; }
  std::unique_ptr<BoundEncoder> Bind(RecordReader& reader, const BindOptions& options) const override;
  std::vector<std::string> DenseNames() const override;
  EncoderText Save() const override;

  /// log(max(x, -2) + 3)
  static float DenseTransform(double x);

 private:
  DataDescription description_;
};

}  // namespace hotrow
