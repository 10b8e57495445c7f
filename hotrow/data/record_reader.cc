#include "hotrow/data/record_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 17;
constexpr std::size_t kMaxRecord = std::size_t{64} << 20;
constexpr int kEndOfFile = -1;

}  // namespace

RecordReader::RecordReader(std::string path, RecordFormat format, bool pipes)
    : path_(std::move(path)), format_(format), file_(path_, pipes), buffer_(kBlock) {
  while (end_ < 3 && FillBuffer()) {
  }
  if (end_ >= 3 && std::memcmp(buffer_.data(), "\xef\xbb\xbf", 3) == 0) Consume(3);
}

// Reads more behind the unread bytes, which move to the front. False at the end of the file.
bool RecordReader::FillBuffer() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kMaxRecord) {
      if (quote_line_ > 0) FailQuoted("makes a record longer than 64 MiB: it is likely not closed");
      line_ = next_line_;
      FailLine("a record longer than 64 MiB: is a quote left open, or is this no text file?");
    }
    buffer_.resize(2 * buffer_.size());
  }
  const std::size_t got = file_.Read(buffer_.data() + end_, std::min(buffer_.size() - end_, kBlock));
  end_ += got;
  at_end_ = got == 0;
  return got > 0;
}

// Length of the unread line up to its LF or the end of the file. False when nothing is left.
bool RecordReader::FindLine(std::size_t& length) {
  std::size_t scanned = 0;
  for (;;) {
    const std::size_t unread = end_ - begin_;
    if (unread > scanned) {
      const char* from = buffer_.data() + begin_;
      const void* found = std::memchr(from + scanned, '\n', unread - scanned);
      if (found != nullptr) {
        length = static_cast<std::size_t>(static_cast<const char*>(found) - from);
        return true;
      }
    }
    scanned = unread;
    if (!FillBuffer()) {
      length = unread;
      return unread > 0;
    }
  }
}

bool RecordReader::SkipBlankLines(std::size_t& length) {
  while (FindLine(length)) {
    const bool blank = length == 0 || (length == 1 && buffer_[begin_] == '\r');
    if (!blank) return true;
    Consume(std::min(length + 1, end_ - begin_));
    ++next_line_;
  }
  return false;
}

std::string_view RecordReader::PeekLine() {
  std::size_t length = 0;
  if (!SkipBlankLines(length)) return {};
  const std::string_view line(buffer_.data() + begin_, length);
  return line.ends_with('\r') ? line.substr(0, length - 1) : line;
}

bool RecordReader::Next() {
  fields_.clear();
  std::size_t length = 0;
  if (!SkipBlankLines(length)) return false;
  line_ = next_line_;
  if (format_.quotes && std::memchr(buffer_.data() + begin_, '"', length) != nullptr) {
    SplitQuoted();
  } else {
    SplitPlain(length);
  }
  return true;
}

void RecordReader::SplitPlain(std::size_t length) {
  const char* field = buffer_.data() + begin_;
  const char* end = field + length;
  Consume(std::min(length + 1, end_ - begin_));
  ++next_line_;
  if (end[-1] == '\r') --end;
  const char separator = format_.separator;
  for (const char* p = field;; ++p) {
    if (p != end && *p != separator) continue;
    fields_.emplace_back(field, static_cast<std::size_t>(p - field));
    if (p == end) return;
    field = p + 1;
  }
}

// The byte `position` behind the record's start, or kEndOfFile.
int RecordReader::At(std::size_t position) {
  while (begin_ + position >= end_) {
    if (!FillBuffer()) return kEndOfFile;
  }
  return static_cast<unsigned char>(buffer_[begin_ + position]);
}

// A quoted field whose first quote is at `position`; unescapes in place. Returns the position behind it.
std::size_t RecordReader::QuotedField(std::size_t position) {
  const std::size_t start = ++position;
  std::size_t out = start;
  quote_line_ = next_line_;
  for (;; ++position) {
    const int c = At(position);
    if (c == kEndOfFile) FailQuoted("is not closed");
    if (c == '"' && At(++position) != '"') break;
    if (c == '\n') ++next_line_;
    buffer_[begin_ + out++] = static_cast<char>(c);
  }
  int c = At(position);
  if (c == '\r' && (At(position + 1) == '\n' || At(position + 1) == kEndOfFile)) c = At(++position);
  if (c != format_.separator && c != '\n' && c != kEndOfFile) FailQuoted("has text behind its closing quote");
  pieces_.push_back({start, out});
  quote_line_ = 0;
  return position;
}

std::size_t RecordReader::PlainField(std::size_t position) {
  const std::size_t start = position;
  int c = At(position);
  while (c != format_.separator && c != '\n' && c != kEndOfFile) c = At(++position);
  const bool carriage_return = c != format_.separator && position > start && At(position - 1) == '\r';
  pieces_.push_back({start, carriage_return ? position - 1 : position});
  return position;
}

void RecordReader::SplitQuoted() {
  pieces_.clear();
  std::size_t position = 0;
  for (;; ++position) {
    position = At(position) == '"' ? QuotedField(position) : PlainField(position);
    if (At(position) != static_cast<unsigned char>(format_.separator)) break;
  }
  ++next_line_;
  for (const Piece& piece : pieces_) {
    fields_.emplace_back(buffer_.data() + begin_ + piece.begin, piece.end - piece.begin);
  }
  Consume(std::min(position + 1, end_ - begin_));
}

void RecordReader::FailAt(std::size_t column, std::string_view name, std::string_view message) const {
  Fail("{}:{}: column {} ({}): {}", path_, line_, column + 1, name, message);
}

void RecordReader::FailQuoted(std::string_view what) const {
  Fail(
      "{}:{}: column {}: a quoted field that begins here {}; if quotes are ordinary characters in this file, "
      "`quotes = false` in its schema says so",
      path_, quote_line_, pieces_.size() + 1, what);
}

void RecordReader::FailLine(std::string_view message) const { Fail("{}:{}: {}", path_, line_, message); }

}  // namespace hotrow
