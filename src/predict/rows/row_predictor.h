#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/prepare/cells.h"
#include "model/model.h"
#include "predict/measure/gaps.h"
#include "predict/rows/predictions.h"

namespace stoker {

// Predicts a few rows at a time, as predict() does a table of them, without making one: what a model needs
// for it is looked up once. Usable from several threads.
class RowPredictor {
 public:
  // Why it cannot be done for this model: it reads windows of a series or sets, or LibTorch computes what it
  // predicts. Else "".
  static std::string problem_with(const Model& model);

  explicit RowPredictor(std::shared_ptr<const Model> model);

  const Model& model() const { return *model_; }
  // What each row has cells for, in this order.
  const std::vector<std::string>& columns() const { return columns_; }
  std::int64_t multiply_adds() const { return multiply_adds_; }  // of a row

  // `cells` are rows one behind the other, columns().size() of them to a row.
  Predictions predict(std::span<const Cell> cells) const;
  std::vector<ColumnGaps> gaps(std::span<const Cell> cells) const;

 private:
  struct Member {
    CellPreparation cells;
    std::vector<std::size_t> places;  // of its columns among all
  };
  Member member_of(const Model& model) const;

  std::shared_ptr<const Model> model_;
  std::vector<std::string> columns_;
  std::vector<Member> members_;
  std::vector<Member> whole_;  // one: what all members have in common, by which gaps are counted
  std::int64_t multiply_adds_ = 0;
};

}  // namespace stoker
