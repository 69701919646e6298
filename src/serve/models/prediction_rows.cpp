#include "serve/models/prediction_rows.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "serve/http/route.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

constexpr std::size_t most_cells = 1'000'000;
constexpr std::size_t most_unknown_columns = 100;
constexpr const char* shape_of_rows =
    R"(a request is {"rows": [{"column": value, …}, …]} or {"columns": ["column", …], "data": [[value, …], …]})";

// Goes through the text once and leaves each value where the model reads it.
class RowReader {
 public:
  explicit RowReader(const std::vector<std::string>& columns)
      : columns_(columns), is_there_(columns.size(), false) {}

  bool null() { return take({}); }
  bool boolean(bool value) { return take({Cell::Kind::truth, value ? 1.0 : 0.0}); }
  bool number_integer(std::int64_t value) { return take_whole(value); }
  bool number_unsigned(std::uint64_t value) { return take_whole(value); }
  bool number_float(double value, const std::string&) { return take({Cell::Kind::number, value}); }
  bool string(std::string& value) {
    if (place_ == Place::names) {
      given_.push_back(std::move(value));
      return true;
    }
    Cell cell{Cell::Kind::text, 0};
    cell.text = std::move(value);
    return take(std::move(cell));
  }
  bool binary(json::binary_t&) { return false; }

  bool start_object(std::size_t) {
    if (place_ == Place::outside) {
      place_ = Place::top;
    } else if (place_ == Place::rows) {
      place_ = Place::row;
      begin_row(columns_.size());
    } else {
      refuse_shape("an object stands where none can");
    }
    return true;
  }
  bool key(std::string& name) {
    if (place_ == Place::row) {
      key_ = std::move(name);
      return true;
    }
    key_ = name;
    if (name != "rows" && name != "columns" && name != "data") refuse_key(name);
    return true;
  }
  bool end_object() {
    place_ = place_ == Place::row ? Place::rows : Place::outside;
    return true;
  }
  bool start_array(std::size_t) {
    if (place_ == Place::top) {
      place_ = key_ == "rows" ? Place::rows : key_ == "data" ? Place::data : Place::names;
      has_rows_ = has_rows_ || key_ == "rows";
      has_data_ = has_data_ || key_ == "data";
    } else if (place_ == Place::row && path_.size() < 2) {
      path_.push_back(0);
    } else if (place_ == Place::data) {
      place_ = Place::list;
      begin_row(0);
    } else {
      refuse_shape("a list stands where none can");
    }
    return true;
  }
  bool end_array() {
    if (place_ == Place::row) {
      path_.pop_back();
      if (!path_.empty()) ++path_.back();
    } else if (place_ == Place::list) {
      place_ = Place::data;
      widths_.push_back(width_);
    } else {
      place_ = Place::top;
    }
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const json::exception&) {
    throw HttpError(400, fmt::format("the body is no JSON: byte {} does not fit", at));
  }

  PredictionRows finish() {
    if (has_rows_ == has_data_) refuse_shape("either rows or data is needed");
    if (has_data_) lay_lists();
    if (rows_.rows == 0) throw HttpError(422, "there are no rows to predict");
    refuse_absent();
    return std::move(rows_);
  }

 private:
  enum class Place { outside, top, rows, row, names, data, list };

  template <class Whole>
  bool take_whole(Whole value) {
    constexpr double exact_to = 9'007'199'254'740'992;  // 2^53
    Cell cell{Cell::Kind::number, static_cast<double>(value)};
    if (std::abs(cell.number) >= exact_to) cell.text = std::to_string(value);
    return take(std::move(cell));
  }

  void begin_row(std::size_t cells) {
    ++rows_.rows;
    next_ = 0;
    width_ = 0;
    if (rows_.cells.size() + cells > most_cells || rows_.rows > most_cells)
      throw HttpError(422, fmt::format("these are more than {} values; send the rows in several requests",
                                       human_count(most_cells)));
    rows_.cells.resize(rows_.cells.size() + cells);
  }

  // Rows that look alike have their columns in one order.
  std::optional<std::size_t> place_of(const std::string& name) {
    if (next_ < columns_.size() && columns_[next_] == name) return next_++;
    const auto found = std::ranges::find(columns_, name);
    if (found == columns_.end()) return std::nullopt;
    next_ = static_cast<std::size_t>(found - columns_.begin()) + 1;
    return next_ - 1;
  }

  void note_unknown(const std::string& name) {
    if (rows_.unknown.size() < most_unknown_columns &&
        std::ranges::find(rows_.unknown, name) == rows_.unknown.end())
      rows_.unknown.push_back(name);
  }

  bool take(Cell cell) {
    if (place_ == Place::list) {
      if (rows_.cells.size() == most_cells) begin_row(1);  // refuses
      ++width_;
      rows_.cells.push_back(std::move(cell));
      return true;
    }
    if (place_ != Place::row) refuse_shape("a value stands where none can");
    std::string name = key_;
    for (const std::size_t index : path_) name += "_" + std::to_string(index);
    if (!path_.empty()) ++path_.back();
    if (const auto place = place_of(name)) {
      is_there_[*place] = true;
      rows_.cells[rows_.cells.size() - columns_.size() + *place] = std::move(cell);
    } else {
      note_unknown(name);
    }
    return true;
  }

  // The names may come behind the values, so that these are laid in the end.
  void lay_lists() {
    std::vector<std::optional<std::size_t>> places;
    for (const std::string& name : given_) {
      places.push_back(place_of(name));
      if (!places.back()) note_unknown(name);
      if (places.back()) is_there_[*places.back()] = true;
    }
    if (widths_.size() * columns_.size() > most_cells) begin_row(most_cells + 1);  // refuses
    std::vector<Cell> laid(widths_.size() * columns_.size());
    std::size_t at = 0;
    for (std::size_t row = 0; row < widths_.size(); ++row) {
      if (widths_[row] != given_.size())
        throw HttpError(422, fmt::format("row {} has {}, but there are {}", row + 1,
                                         counted(widths_[row], "value"), counted(given_.size(), "column")));
      for (std::size_t i = 0; i < given_.size(); ++i, ++at)
        if (places[i]) laid[row * columns_.size() + *places[i]] = std::move(rows_.cells[at]);
    }
    rows_.cells = std::move(laid);
  }

  void refuse_absent() const {
    std::vector<std::string> absent;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (!is_there_[i]) absent.push_back(columns_[i]);
    if (absent.empty()) return;
    if (absent.size() > 1)
      throw HttpError(422, fmt::format("the rows lack columns that the model needs: {}", join(absent, ", ")));
    throw HttpError(422, fmt::format("the rows lack column '{}', which the model needs{}", absent.front(),
                                     did_you_mean(absent.front(), rows_.unknown)));
  }

  const std::vector<std::string>& columns_;
  std::vector<bool> is_there_;
  PredictionRows rows_;
  Place place_ = Place::outside;
  std::string key_;
  std::vector<std::size_t> path_;  // inside of a value that is a list
  std::size_t next_ = 0;
  bool has_rows_ = false;
  bool has_data_ = false;
  std::vector<std::string> given_;  // names of the columns of lists
  std::vector<std::size_t> widths_;
  std::size_t width_ = 0;
};

}  // namespace

void refuse_key(const std::string& name) {
  if (name == "interval" || name == "every_window")
    throw HttpError(422, fmt::format("'{0}' belongs into the address, not into the body: …/predict?{0}={1}",
                                     name, name == "interval" ? "90" : "true"));
  refuse_shape(fmt::format("'{}' is unknown{}", printable(name),
                           did_you_mean(name, std::vector<std::string>{"rows", "columns", "data"})));
}

void refuse_shape(const std::string& what) {
  throw HttpError(422, fmt::format("{}; {}", what, shape_of_rows));
}

PredictionRows rows_in_json(std::string_view body, const std::vector<std::string>& columns) {
  RowReader reader(columns);
  json::sax_parse(body.begin(), body.end(), &reader);
  return reader.finish();
}

}  // namespace stoker::serve
