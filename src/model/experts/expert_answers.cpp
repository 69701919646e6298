#include "model/experts/expert_answers.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "device/workers.h"
#include "model/experts/expert_routing.h"
#include "model/family.h"
#include "model/network/activate.h"

namespace stoker {
namespace {

using ExpertIndex = Eigen::Index;

struct ExpertLayer {
  const float* weight = nullptr;  // [room, outputs, inputs]
  const float* bias = nullptr;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

const float* floats_of_shape(const NamedArrays& parameters, const std::string& name, const Shape& shape) {
  const Array& array = find_array(parameters, name);
  if (array.type() != DType::float32 || array.shape() != shape)
    fail("the parameters '{}' do not have the shape of the network", name);
  return array.as<float>().data();
}

void multiply(const FloatMatrix& rows, const ExpertLayer& layer, std::int64_t expert, FloatMatrix& made) {
  const Eigen::Map<const FloatMatrix> weight(layer.weight + expert * layer.outputs * layer.inputs,
                                             layer.outputs, layer.inputs);
  const Eigen::Map<const Eigen::RowVectorXf> bias(layer.bias + expert * layer.outputs, layer.outputs);
  made.noalias() = rows * weight.transpose();
  made.rowwise() += bias;
}

class Answering {
 public:
  Answering(const ExpertShape& shape, const NamedArrays& parameters) : shape_(shape) {
    const auto layer = [&](const std::string& weight, const std::string& bias, std::int64_t inputs,
                           std::int64_t outputs, std::int64_t room) {
      const Shape of_weight = room > 0 ? Shape{room, outputs, inputs} : Shape{outputs, inputs};
      const Shape of_bias = room > 0 ? Shape{room, outputs} : Shape{outputs};
      return ExpertLayer{floats_of_shape(parameters, weight, of_weight),
                         floats_of_shape(parameters, bias, of_bias), inputs, outputs};
    };
    const std::int64_t width = shape.router_width();
    inner_ = layer("router.inner.weight", "router.inner.bias", shape.inputs, width, 0);
    outer_ = layer("router.outer.weight", "router.outer.bias", width, shape.room(), 0);
    for (std::size_t i = 0; i < shape.layer_count(); ++i)
      layers_.push_back(layer(expert_weight(i), expert_bias(i), shape.layer_inputs(i), shape.layer_outputs(i),
                              shape.room()));
    const float* alive = floats_of_shape(parameters, alive_name, {shape.room()});
    for (std::int64_t e = 0; e < shape.room(); ++e)
      if (alive[e] != 0) living_.push_back(static_cast<std::int32_t>(e));
    if (std::ssize(living_) < shape.settings.top_k)
      refuse("only {} experts of the model are alive, but {} have to answer for each row", living_.size(),
             shape.settings.top_k);
  }

  // These two: rows from `first` of the answers on.
  void route(const FloatMatrix& rows, std::int64_t first, ExpertRoutes& answers) const {
    const std::int64_t count = rows.rows();
    const std::int64_t top = shape_.settings.top_k;
    FloatMatrix inner;
    FloatMatrix scores;
    multiply(rows, inner_, 0, inner);
    activate(Activation::relu, inner);
    multiply(inner, outer_, 0, scores);
    std::vector<float> shares(static_cast<std::size_t>(shape_.room()));
    for (std::int64_t row = 0; row < count; ++row) {
      const float* of_row = scores.row(row).data();
      const auto place = static_cast<std::size_t>((first + row) * top);
      route_row(of_row, living_, shape_.settings.temperature, top, &answers.chosen[place],
                &answers.shares[place]);
      share_all(of_row, living_, shape_.settings.temperature, shares.data());
      answers.hesitation[static_cast<std::size_t>(first + row)] = hesitation_of(shares.data(), living_);
    }
  }
  void answer(const FloatMatrix& rows, std::int64_t first, ExpertAnswers& answers) const {
    route(rows, first, answers);
    const std::int64_t count = rows.rows();
    Eigen::Map<FloatMatrix> outputs(answers.outputs.as<float>().data() + first * shape_.outputs, count,
                                    shape_.outputs);
    outputs.setZero();
    for (const std::int32_t expert : living_) add_answers_of(expert, rows, first, answers, outputs);
  }

 private:
  void add_answers_of(std::int32_t expert, const FloatMatrix& rows, std::int64_t first,
                      const ExpertAnswers& answers, Eigen::Map<FloatMatrix>& outputs) const {
    const std::int64_t top = shape_.settings.top_k;
    std::vector<ExpertIndex> own;
    std::vector<float> shares;
    for (ExpertIndex row = 0; row < rows.rows(); ++row)
      for (std::int64_t k = 0; k < top; ++k) {
        const auto place = static_cast<std::size_t>((first + row) * top + k);
        if (answers.chosen[place] != expert) continue;
        own.push_back(row);
        shares.push_back(answers.shares[place]);
      }
    if (own.empty()) return;
    FloatMatrix values(std::ssize(own), rows.cols());
    for (std::size_t i = 0; i < own.size(); ++i) values.row(static_cast<ExpertIndex>(i)) = rows.row(own[i]);
    FloatMatrix next;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      multiply(values, layers_[i], expert, next);
      if (i + 1 < layers_.size()) activate(Activation::relu, next);
      values.swap(next);
    }
    for (std::size_t i = 0; i < own.size(); ++i)
      outputs.row(own[i]) += shares[i] * values.row(static_cast<ExpertIndex>(i));
  }

  const ExpertShape& shape_;
  ExpertLayer inner_;
  ExpertLayer outer_;
  std::vector<ExpertLayer> layers_;
  std::vector<std::int32_t> living_;
};

void check_features_of_experts(const ExpertShape& shape, const Array& features, std::int64_t first_row,
                               std::int64_t rows) {
  if (features.type() != DType::float32 || features.shape().size() != 2 ||
      features.dimension(1) != shape.inputs)
    fail("a network of {} inputs was given features of another shape", shape.inputs);
  if (first_row < 0 || rows < 0 || rows > features.dimension(0) - first_row)
    fail("a network was asked for rows {} to {} of {}", first_row, first_row + rows, features.dimension(0));
}

void make_room_for_routes(const ExpertShape& shape, std::int64_t rows, ExpertRoutes& routes) {
  const auto places = static_cast<std::size_t>(rows * shape.settings.top_k);
  routes.chosen.resize(places);
  routes.shares.resize(places);
  routes.hesitation.resize(static_cast<std::size_t>(rows));
}

// Calls visit(rows, number of the first) for blocks of them.
template <class Visit>
void each_block_of_rows(const ExpertShape& shape, const Array& features, std::int64_t first_row,
                        std::int64_t rows, const Visit& visit) {
  const float* values = features.as<float>().data();
  // Blocks have the same bits in parts as in the whole, see rows_of_block.
  share_among_cores((rows + rows_of_block - 1) / rows_of_block, [&](std::int64_t block) {
    const std::int64_t first = block * rows_of_block;
    const std::int64_t count = std::min(rows_of_block, rows - first);
    const FloatMatrix own =
        Eigen::Map<const FloatMatrix>(values + (first_row + first) * shape.inputs, count, shape.inputs);
    visit(own, first);
  });
}

}  // namespace

ExpertAnswers expert_answers(const ExpertShape& shape, const NamedArrays& parameters, const Array& features,
                             std::int64_t first_row, std::int64_t rows) {
  check_features_of_experts(shape, features, first_row, rows);
  const Answering answering(shape, parameters);
  ExpertAnswers answers;
  answers.outputs = Array(DType::float32, {rows, shape.outputs});
  make_room_for_routes(shape, rows, answers);
  each_block_of_rows(shape, features, first_row, rows, [&](const FloatMatrix& block, std::int64_t first) {
    answering.answer(block, first, answers);
  });
  return answers;
}

ExpertRoutes expert_routes(const ExpertShape& shape, const NamedArrays& parameters, const Array& features) {
  const std::int64_t rows = features.dimension(0);
  check_features_of_experts(shape, features, 0, rows);
  const Answering answering(shape, parameters);
  ExpertRoutes routes;
  make_room_for_routes(shape, rows, routes);
  each_block_of_rows(shape, features, 0, rows, [&](const FloatMatrix& block, std::int64_t first) {
    answering.route(block, first, routes);
  });
  return routes;
}

}  // namespace stoker
