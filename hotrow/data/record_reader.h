#pragma once
// Lines of a text file as fields: tab- or comma-separated, plain or gzip, read in blocks so that a file
// larger than memory streams.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hotrow/data/input_file.h"

namespace hotrow {

struct RecordFormat {
  char separator = ',';
  /// A field that starts with '"' ends at the next single '"', may hold separators and line ends, and "" in
  /// it is one quote (RFC 4180). Off: quotes are ordinary characters.
  bool quotes = true;
};

/// Reads one file, record by record. Lines end in LF or CRLF, the last may end without; blank lines and a
/// UTF-8 byte order mark are skipped. Not thread-safe.
class RecordReader {
 public:
  /// Throws Error where the path cannot be opened or is no file, nor, with `pipes`, a pipe.
  explicit RecordReader(std::string path, RecordFormat format = {}, bool pipes = false);
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  /// For what follows; used where the first line tells the format.
  void set_format(RecordFormat format) { format_ = format; }
  /// The next line that is not blank, without its end; it stays unread. Empty at the end of the file.
  std::string_view PeekLine();

  /// Goes on to the next record; false at the end of the file. Throws Error for an unclosed quote, text
  /// behind a closing quote, a record above 64 MiB, and what the disk or the compressed stream does.
  bool Next();
  /// The record's fields, at least one; valid until the next call of Next or PeekLine.
  std::span<const std::string_view> fields() const { return fields_; }
  /// The line it starts on, from 1.
  std::int64_t line() const { return line_; }
  const std::string& path() const { return path_; }
  /// The file's when it was opened.
  const FileStamp& stamp() const { return file_.stamp(); }

  /// Throws Error "PATH:LINE: column N (NAME): MESSAGE", column counted from 0 here and from 1 in the text.
  [[noreturn]] void FailAt(std::size_t column, std::string_view name, std::string_view message) const;
  /// Throws Error "PATH:LINE: MESSAGE".
  [[noreturn]] void FailLine(std::string_view message) const;

 private:
  bool FillBuffer();
  bool FindLine(std::size_t& length);
  bool SkipBlankLines(std::size_t& length);
  int At(std::size_t position);
  void SplitPlain(std::size_t length);
  void SplitQuoted();
  [[noreturn]] void FailQuoted(std::string_view what) const;
  std::size_t QuotedField(std::size_t position);
  std::size_t PlainField(std::size_t position);
  void Consume(std::size_t bytes) { begin_ += bytes; }

  std::string path_;
  RecordFormat format_;
  InputFile file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // unread bytes are buffer_[begin_, end_)
  std::size_t end_ = 0;
  bool at_end_ = false;
  std::int64_t line_ = 0;
  std::int64_t next_line_ = 1;
  std::int64_t quote_line_ = 0;  // where the quoted field at hand begins; 0: none is read
  struct Piece {
    std::size_t begin, end;  // from begin_: the buffer may move while a record is read
  };
  std::vector<Piece> pieces_;
  std::vector<std::string_view> fields_;
};

}  // namespace hotrow
