#include "data/csv/csv_cells.h"

#include <algorithm>

namespace stoker {
namespace {

constexpr std::size_t looked_at_rows = 500;

class CellSplitter {
 public:
  CellSplitter(std::string_view text, char delimiter, bool is_cut) : text_(text), delimiter_(delimiter) {
    while (at_ < text_.size() && rows_.size() < looked_at_rows) take_row(is_cut);
  }
  std::vector<CsvCells> rows() && { return std::move(rows_); }

 private:
  void take_row(bool is_cut) {
    CsvCells row;
    bool closed = true;
    do row.push_back(take_cell(closed));
    while (at_ < text_.size() && text_[at_] == delimiter_ && ++at_ <= text_.size());
    const bool ended = at_ < text_.size();
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
    if (!closed || (!ended && is_cut)) return;
    if (row.size() > 1 || !row.front().empty()) rows_.push_back(std::move(row));
  }

  std::string take_cell(bool& closed) {
    std::string cell;
    if (at_ < text_.size() && text_[at_] == '"') {
      closed = false;
      while (++at_ < text_.size()) {
        if (text_[at_] == '"' && (at_ + 1 == text_.size() || text_[at_ + 1] != '"')) {
          closed = true;
          ++at_;
          break;
        }
        if (text_[at_] == '"') ++at_;
        cell += text_[at_];
      }
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
    return cell.append(text_.substr(begin, at_ - begin));
  }

  std::string_view text_;
  char delimiter_;
  std::size_t at_ = 0;
  std::vector<CsvCells> rows_;
};

}  // namespace

std::vector<CsvCells> cut_rows(std::string_view text, char delimiter, bool is_cut) {
  return CellSplitter(text, delimiter, is_cut).rows();
}

std::size_t width_of(const std::vector<CsvCells>& rows) {
  if (rows.empty()) return 0;
  const std::size_t width = rows.front().size();
  const bool is_even =
      std::all_of(rows.begin(), rows.end(), [&](const auto& row) { return row.size() == width; });
  return is_even ? width : 0;
}

}  // namespace stoker
