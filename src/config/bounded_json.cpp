#include "config/bounded_json.h"

#include <string>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace stoker::config {
namespace {

// Walks over the text without building anything; stops where a bound is passed.
class Counter : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Counter(const JsonBounds& bounds) : bounds_(bounds) {}

  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(std::int64_t) override { return count(); }
  bool number_unsigned(std::uint64_t) override { return count(); }
  bool number_float(double, const std::string&) override { return count(); }
  bool string(std::string&) override { return count(); }
  bool binary(nlohmann::json::binary_t&) override { return count(); }
  bool key(std::string&) override { return count(); }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  // The parser that builds tells what is wrong.
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

  void refuse_if_beyond() const {
    if (depth_ > bounds_.depth) refuse("it is nested more than {} levels deep", bounds_.depth);
    if (containers_ > bounds_.containers)
      refuse("it contains more than {} lists and objects", bounds_.containers);
    if (values_ > bounds_.values) refuse("it contains more than {} values", bounds_.values);
  }

 private:
  bool count() { return ++values_ <= bounds_.values; }
  bool open() { return ++depth_ <= bounds_.depth && ++containers_ <= bounds_.containers && count(); }
  bool close() {
    --depth_;
    return true;
  }

  const JsonBounds& bounds_;
  std::size_t values_ = 0;
  std::size_t containers_ = 0;
  int depth_ = 0;
};

}  // namespace

nlohmann::json parse_bounded_json(std::string_view text, const JsonBounds& bounds) {
  Counter counter(bounds);
  nlohmann::json::sax_parse(text, &counter);
  counter.refuse_if_beyond();
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::out_of_range&) {
    refuse("it contains a number beyond 1.8e308, the largest that a double can be");
  }
}

}  // namespace stoker::config
