#include "hotrow/files/strict_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/printable.h"

namespace hotrow {
namespace {

using Json = nlohmann::json;

// Looks at the text's events before anything is built of it. The parser's callback could do the same while it
// builds, but goes through the parent's elements at the end of every object.
class Watch : public nlohmann::json_sax<Json> {
 public:
  Watch(int max_depth, const std::string& where) : max_depth_(max_depth), where_(where) {}

  bool start_object(std::size_t) override {
    Open();
    keys_.emplace_back();
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    Open();
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(std::string& name) override {
    if (!keys_.back().insert(name).second) {
      Fail("{}: key \"{}\" is there twice in one object", where_, Printable(name));
    }
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  // The parse that follows says what is wrong.
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  void Open() {
    if (++depth_ > max_depth_) Fail("{}: nested deeper than {} levels", where_, max_depth_);
  }

  int max_depth_;
  int depth_ = 0;
  const std::string& where_;
  std::vector<std::set<std::string>> keys_;  // of each open object
};

}  // namespace

nlohmann::json ParseStrictJson(const std::string& text, int max_depth, const std::string& where) {
  if (text.find('\0') != std::string::npos) Fail("{}: not JSON: it has a zero byte", where);
  Watch watch(max_depth, where);
  Json::sax_parse(text, &watch);
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    const std::string_view what = e.what();
    const std::size_t start = what.find("] ");
    Fail("{}: not JSON: {}", where, start == std::string_view::npos ? what : what.substr(start + 2));
  }
}

}  // namespace hotrow
