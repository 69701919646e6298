#include "fused/plain_training.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/random.h"
#include "fused/plain_activation.h"
#include "fused/reshaped.h"

namespace stoker::test {
namespace {

using Numbers = std::vector<double>;

struct Parameter {
  std::string name;
  Shape shape;
  Numbers values, gradients, first, second;
};

struct Layer {
  Numbers linear, active, mask;
};

// By a central difference, so that no formula is written twice.
double slope(Activation activation, double x) {
  if (activation == Activation::relu) return x > 0 ? 1 : 0;
  return (activated(activation, x + 1e-5) - activated(activation, x - 1e-5)) / 2e-5;
}

class Plain {
 public:
  explicit Plain(const EngineRequest& request)
      : request_(request), shape_(test::shape_of(request)), layers_(shape_.layer_count()) {
    for (const NamedArray& entry : request.initial_parameters) {
      const auto values = entry.array.as<float>();
      const std::size_t count = values.size();
      parameters_.push_back({entry.name, entry.array.shape(), Numbers(values.begin(), values.end()),
                             Numbers(count), Numbers(count), Numbers(count)});
    }
  }

  PlainResult train(std::int64_t epochs, double rate) {
    PlainResult result;
    const std::int64_t rows = request_.training.rows();
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      const Permutation order(random_key(request_.seed, Purpose::shuffle, static_cast<std::uint64_t>(epoch)),
                              static_cast<std::uint64_t>(rows));
      double total = 0;
      for (std::int64_t first = 0; first < rows; first += request_.batch_size) {
        chosen_.clear();
        for (std::int64_t i = first; i < std::min(rows, first + request_.batch_size); ++i)
          chosen_.push_back(order(static_cast<std::uint64_t>(i)));
        total += step(rate);
      }
      result.train_losses.push_back(total / static_cast<double>(rows));
    }
    for (const Parameter& parameter : parameters_) {
      Array array(DType::float32, parameter.shape);
      std::ranges::transform(parameter.values, array.as<float>().begin(),
                             [](double value) { return static_cast<float>(value); });
      result.parameters.push_back({parameter.name, std::move(array)});
    }
    return result;
  }

 private:
  std::size_t inputs(std::size_t layer) const { return static_cast<std::size_t>(shape_.layer_inputs(layer)); }
  std::size_t outputs(std::size_t layer) const {
    return static_cast<std::size_t>(shape_.layer_outputs(layer));
  }

  double step(double rate) {
    for (Parameter& parameter : parameters_) std::ranges::fill(parameter.gradients, 0.0);
    double loss = 0;
    for (std::size_t row = 0; row < chosen_.size(); ++row) {
      forward(row);
      Numbers gradient;
      loss += row_loss(chosen_[row], gradient);
      backward(chosen_[row], std::move(gradient));
    }
    update(rate);
    ++steps_;
    return loss;
  }

  Numbers input_of(std::size_t layer, std::size_t source) const {
    if (layer > 0) return layers_[layer - 1].active;
    const auto features = request_.training.features().as<float>();
    const std::size_t width = inputs(0);
    return {features.begin() + static_cast<std::ptrdiff_t>(source * width),
            features.begin() + static_cast<std::ptrdiff_t>((source + 1) * width)};
  }

  void forward(std::size_t row) {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const Numbers input = input_of(l, chosen_[row]);
      Layer& layer = layers_[l];
      layer.linear = parameters_[2 * l + 1].values;
      for (std::size_t o = 0; o < outputs(l); ++o)
        for (std::size_t i = 0; i < inputs(l); ++i)
          layer.linear[o] += parameters_[2 * l].values[o * inputs(l) + i] * input[i];
      layer.active = layer.linear;
      if (l + 1 == layers_.size()) return;
      layer.mask.assign(outputs(l), 1.0);
      const RandomKey key =
          dropout_key(request_.seed, static_cast<std::uint64_t>(steps_), static_cast<std::uint32_t>(l));
      const auto probability = static_cast<float>(shape_.dropout);
      for (std::size_t o = 0; o < outputs(l); ++o) {
        const auto element = static_cast<std::uint32_t>(row * outputs(l) + o);
        if (probability > 0)
          layer.mask[o] = dropped(random_bits(key, element / 2), element, dropout_threshold(probability))
                              ? 0
                              : 1 / (1.0 - static_cast<double>(probability));
        layer.active[o] = activated(shape_.activation, layer.linear[o]) * layer.mask[o];
      }
    }
  }

  double row_loss(std::size_t source, Numbers& gradient) const {
    const Numbers& output = layers_.back().active;
    gradient.assign(output.size(), 0.0);
    const Array* weights = request_.training.find(Role::weights);
    const double weight = weights == nullptr ? 1 : static_cast<double>(weights->as<float>()[source]);
    const double scale = weight / static_cast<double>(chosen_.size());
    double loss = 0;
    if (request_.loss().kind == Loss::cross_entropy) {
      const auto target = static_cast<std::size_t>(request_.training.targets().as<std::int64_t>()[source]);
      double sum = 0;
      for (const double value : output) sum += std::exp(value);
      for (std::size_t o = 0; o < output.size(); ++o)
        gradient[o] = (std::exp(output[o]) / sum - (o == target ? 1 : 0)) * scale;
      return weight * (std::log(sum) - output[target]);
    }
    const auto targets = request_.training.targets().as<float>();
    const auto width = static_cast<double>(output.size());
    for (std::size_t o = 0; o < output.size(); ++o) {
      const auto target = static_cast<double>(targets[source * output.size() + o]);
      const double difference = output[o] - target;
      double slope_here = 2 * difference;
      if (request_.loss().kind == Loss::mse) {
        loss += difference * difference;
      } else if (request_.loss().kind == Loss::huber) {
        const double delta = request_.loss().huber_delta;
        const bool near = std::fabs(difference) <= delta;
        loss += near ? 0.5 * difference * difference : delta * (std::fabs(difference) - 0.5 * delta);
        slope_here = std::clamp(difference, -delta, delta);
      } else if (request_.loss().kind == Loss::quantile) {
        slope_here = difference > 0 ? 1 - request_.loss().quantile : -request_.loss().quantile;
        loss += slope_here * difference;
      } else {
        const double probability = 1 / (1 + std::exp(-output[o]));
        loss -= target * std::log(probability) + (1 - target) * std::log(1 - probability);
        slope_here = probability - target;
      }
      gradient[o] = slope_here / width * scale;
    }
    return weight * loss / width;
  }

  void backward(std::size_t source, Numbers gradient) {
    for (std::size_t l = layers_.size(); l-- > 0;) {
      const Numbers input = input_of(l, source);
      Numbers below(inputs(l));
      for (std::size_t o = 0; o < outputs(l); ++o) {
        parameters_[2 * l + 1].gradients[o] += gradient[o];
        for (std::size_t i = 0; i < inputs(l); ++i) {
          parameters_[2 * l].gradients[o * inputs(l) + i] += gradient[o] * input[i];
          below[i] += gradient[o] * parameters_[2 * l].values[o * inputs(l) + i];
        }
      }
      if (l == 0) return;
      for (std::size_t i = 0; i < below.size(); ++i)
        below[i] *= layers_[l - 1].mask[i] * slope(shape_.activation, layers_[l - 1].linear[i]);
      gradient = std::move(below);
    }
  }

  double clip_factor() const {
    const double limit = request_.optimizer.max_grad_norm;
    if (limit <= 0) return 1;
    double squares = 0;
    for (const Parameter& parameter : parameters_)
      for (const double value : parameter.gradients) squares += value * value;
    return std::min(1.0, limit / (std::sqrt(squares) + 1e-6));
  }

  void update(double rate) {
    const OptimizerSettings& s = request_.optimizer;
    const double factor = clip_factor();
    const double number = static_cast<double>(steps_) + 1;
    for (Parameter& p : parameters_) {
      for (std::size_t i = 0; i < p.values.size(); ++i) {
        double gradient = p.gradients[i] * factor;
        if (s.kind == Optimizer::adamw) {
          p.values[i] *= 1 - rate * s.weight_decay;
        } else {
          gradient += s.weight_decay * p.values[i];
        }
        if (s.kind == Optimizer::sgd) {
          p.first[i] = s.momentum * p.first[i] + gradient;
          p.values[i] -= rate * p.first[i];
          continue;
        }
        p.first[i] = s.beta1 * p.first[i] + (1 - s.beta1) * gradient;
        p.second[i] = s.beta2 * p.second[i] + (1 - s.beta2) * gradient * gradient;
        const double mean = p.first[i] / (1 - std::pow(s.beta1, number));
        const double square = p.second[i] / (1 - std::pow(s.beta2, number));
        p.values[i] -= rate * mean / (std::sqrt(square) + s.epsilon);
      }
    }
  }

  const EngineRequest& request_;
  MlpShape shape_;
  std::vector<Parameter> parameters_;
  std::vector<Layer> layers_;
  std::vector<std::size_t> chosen_;
  std::int64_t steps_ = 0;
};

}  // namespace

PlainResult train_plainly(const EngineRequest& request, std::int64_t epochs, double rate) {
  return Plain(request).train(epochs, rate);
}

}  // namespace stoker::test
