#pragma once
// How records become samples: the two halves of a text format.
//
// A RecordEncoder is everything that training fixes: columns, table sizes, fitted vocabularies and
// statistics. It is immutable and shared by the sources of training, evaluation and prediction; its JSON is
// stored with a saved model. Binding it to a file (whose columns may stand in another order, or lack labels)
// gives what encodes that file's records.

#include <memory>
#include <string>
#include <vector>

#include "hotrow/data/batch.h"
#include "hotrow/data/encoded_samples.h"
#include "hotrow/data/encoder_text.h"
#include "hotrow/data/record_reader.h"

namespace hotrow {

class BoundEncoder {
 public:
  virtual ~BoundEncoder() = default;
  virtual bool has_labels() const = 0;
  virtual bool has_sample_weights() const { return false; }
  /// Appends the reader's record as a sample. Throws Error "FILE:LINE: column N (NAME): …" where it is
  /// malformed.
  virtual void Encode(const RecordReader& record, EncodedSamples& out) = 0;
};

struct BindOptions {
  bool need_labels = true;      ///< a missing label column is an error, or one of the samples' weights
  bool refuse_bad_ids = false;  ///< an id outside its table is an error at its record; off: it is passed on
  UnknownCounter* unknown = nullptr;  ///< where values that a vocabulary does not have are counted
};

class RecordEncoder {
 public:
  virtual ~RecordEncoder() = default;
  /// has_labels and samples are a file's matter: true and unknown here; so is whether a file that needs no
  /// labels has sample weights.
  virtual const DataDescription& description() const = 0;
  /// What each dense input is, as a reader of the data calls it: "age", or "log1p(price)" where the model
  /// sees another value than the file holds.
  virtual std::vector<std::string> DenseNames() const = 0;
  /// For a reader at its file's start: sets its format and reads the header where there is one. Throws Error
  /// where columns are missing or have one name. The encoder must outlive the result.
  virtual std::unique_ptr<BoundEncoder> Bind(RecordReader& reader, const BindOptions& options) const = 0;
  /// All of it, for LoadRecordEncoder (open_source.h).
  virtual EncoderText Save() const = 0;
};

}  // namespace hotrow
