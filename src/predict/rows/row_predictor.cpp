#include "predict/rows/row_predictor.h"

#include <algorithm>

namespace stoker {

std::string RowPredictor::problem_with(const Model& model) {
  for (const Model& member : members_of(model)) {
    if (member.preparation.cubes() != nullptr) return "it scores the pixels of cubes";
    if (member.preparation.windows() != nullptr) return "it predicts windows of a series";
    if (!CellPreparation::can_prepare(member.preparation)) return "it reads sets";
    if (family_of(member.network).outputs == nullptr)
      return "LibTorch computes what a " + member.type() + " predicts";
  }
  return "";
}

RowPredictor::RowPredictor(std::shared_ptr<const Model> model) : model_(std::move(model)) {
  for (const Model& member : members_of(*model_))
    for (const std::string& name : member.preparation.column_names())
      if (std::ranges::find(columns_, name) == columns_.end()) columns_.push_back(name);
  for (const Model& member : members_of(*model_)) {
    members_.push_back(member_of(member));
    multiply_adds_ += stoker::multiply_adds(member.network);
  }
  const auto reads = [&](const std::string& name) {
    return std::ranges::find(columns_, name) != columns_.end();
  };
  if (std::ranges::all_of(model_->preparation.column_names(), reads)) whole_.push_back(member_of(*model_));
}

RowPredictor::Member RowPredictor::member_of(const Model& model) const {
  Member member{{model.preparation, family_of(model.network).type()}, {}};
  for (const std::string& name : member.cells.columns())
    member.places.push_back(static_cast<std::size_t>(std::ranges::find(columns_, name) - columns_.begin()));
  return member;
}

Predictions RowPredictor::predict(std::span<const Cell> cells) const {
  std::vector<Dataset> rows;
  for (const Member& member : members_)
    rows.push_back(member.cells.prepare(cells, columns_.size(), member.places));
  return predict_prepared(*model_, rows);
}

std::vector<ColumnGaps> RowPredictor::gaps(std::span<const Cell> cells) const {
  std::vector<ColumnGaps> all;
  for (const Member& whole : whole_) {
    const auto found = whole.cells.gaps(cells, columns_.size(), whole.places);
    for (std::size_t i = 0; i < found.size(); ++i)
      if (const ColumnGaps gaps{whole.cells.columns()[i], found[i].missing, found[i].unseen, found[i].outside,
                                found[i].range.value_or(NumberRange{})};
          gaps.has_any())
        all.push_back(gaps);
  }
  return all;
}

}  // namespace stoker
