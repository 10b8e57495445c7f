#include "hotrow/files/text_writer.h"

namespace hotrow {

void TextWriter::Flush() {
  file_.Write(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void TextWriter::Finish() {
  Flush();
  file_.Finish();
}

}  // namespace hotrow
