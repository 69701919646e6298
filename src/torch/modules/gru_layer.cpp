#include "torch/modules/gru_layer.h"

#include <memory>
#include <utility>
#include <vector>

#include <ATen/autocast_mode.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include "torch/modules/recurrent_moments.h"
#include "torch/modules/way_back.h"

namespace stoker::torch_door {
namespace {

// What one direction reads and leaves for its way back.
struct GruDirection {
  at::Tensor input_weight;   // [3 hidden, columns]
  at::Tensor hidden_weight;  // [3 hidden, hidden]
  at::Tensor input_bias;
  at::Tensor hidden_bias;
  at::Tensor gates;       // [length, rows, 3 hidden]
  at::Tensor state_news;  // [length, rows, hidden]
};

struct GruGradients {
  at::Tensor input_weight;
  at::Tensor hidden_weight;
  at::Tensor input_bias;
  at::Tensor hidden_bias;
  at::Tensor inputs;  // undefined where nobody asks
};

class GruLayer {
 public:
  GruLayer(const at::Tensor& x, std::span<const at::Tensor> weights)
      : moments_(x, static_cast<std::int64_t>(weights.size() / 4), weights[1].size(1)) {
    for (std::size_t i = 0; i + 3 < weights.size(); i += 4)
      directions_.push_back({weights[i].detach(), weights[i + 1].detach(), weights[i + 2].detach(),
                             weights[i + 3].detach(), at::Tensor(), at::Tensor()});
  }

  at::Tensor run() {
    moments_.in_all_directions([this](std::int64_t number) { run_forward(number); });
    return moments_.outputs.transpose(0, 1);
  }

  std::vector<GruGradients> run_back(const at::Tensor& gradient, bool with_inputs) {
    const at::Tensor by_moment = gradient_by_moments(gradient);
    std::vector<GruGradients> all(directions_.size());
    moments_.in_all_directions([&](std::int64_t number) {
      all[static_cast<std::size_t>(number)] = run_backward(number, by_moment, with_inputs);
    });
    return all;
  }

 private:
  void run_forward(std::int64_t number) {
    GruDirection& d = directions_[static_cast<std::size_t>(number)];
    const std::int64_t rows = moments_.rows();
    const std::int64_t hidden = moments_.hidden;
    const auto options = moments_.inputs.options();
    d.gates = at::empty({moments_.all(), 3 * hidden}, options);
    d.state_news = at::empty({moments_.all(), hidden}, options);
    at::addmm_out(d.gates, d.input_bias, moments_.flat_inputs(), d.input_weight.t());
    const at::Tensor panels =
        packed_panels(kernels_, d.hidden_weight, hidden, 3 * hidden, /*is_turned=*/true);
    const at::Tensor state_sums = at::empty({rows, 3 * hidden}, options);
    for (std::int64_t step = 0; step < moments_.length(); ++step) {
      const std::int64_t at = moments_.moment(number, step);
      fused_cpu::GruMoment work;
      work.rows = rows;
      work.hidden = hidden;
      work.gates = d.gates.mutable_data_ptr<float>() + at * rows * 3 * hidden;
      work.state_bias = d.hidden_bias.const_data_ptr<float>();
      work.state_news = d.state_news.mutable_data_ptr<float>() + at * rows * hidden;
      work.output = moments_.output(number, at);
      work.output_stride = moments_.width();
      if (step > 0) {
        work.before = moments_.output(number, moments_.moment(number, step - 1));
        work.state_sums = state_sums.const_data_ptr<float>();
        kernels_.multiply_panels({rows, hidden, 3 * hidden, work.before, work.output_stride,
                                  panels.const_data_ptr<float>(), state_sums.mutable_data_ptr<float>(),
                                  3 * hidden, false});
      }
      kernels_.gru_moment(work);
    }
  }

  GruGradients run_backward(std::int64_t number, const at::Tensor& gradient, bool with_inputs) {
    const GruDirection& d = directions_[static_cast<std::size_t>(number)];
    const std::int64_t rows = moments_.rows();
    const std::int64_t hidden = moments_.hidden;
    const auto options = moments_.inputs.options();
    const at::Tensor of_inputs = at::empty({moments_.all(), 3 * hidden}, options);
    const at::Tensor of_state = at::empty({moments_.all(), 3 * hidden}, options);
    const at::Tensor kept_gradient = at::zeros({rows, hidden}, options);
    const at::Tensor state_gradient = at::empty({rows, hidden}, options);
    const at::Tensor panels =
        packed_panels(kernels_, d.hidden_weight, 3 * hidden, hidden, /*is_turned=*/false);
    for (std::int64_t step = moments_.length() - 1; step >= 0; --step) {
      const std::int64_t at = moments_.moment(number, step);
      fused_cpu::GruMomentBack work;
      work.rows = rows;
      work.hidden = hidden;
      work.gates = d.gates.const_data_ptr<float>() + at * rows * 3 * hidden;
      work.state_news = d.state_news.const_data_ptr<float>() + at * rows * hidden;
      if (step > 0) work.before = moments_.output(number, moments_.moment(number, step - 1));
      work.output_gradient = gradient.const_data_ptr<float>() + moments_.place(number, at);
      work.output_stride = moments_.width();
      work.kept_gradient = kept_gradient.mutable_data_ptr<float>();
      if (step + 1 < moments_.length()) work.state_gradient = state_gradient.const_data_ptr<float>();
      work.input_sums_gradient = of_inputs.mutable_data_ptr<float>() + at * rows * 3 * hidden;
      work.state_sums_gradient = of_state.mutable_data_ptr<float>() + at * rows * 3 * hidden;
      kernels_.gru_moment_back(work);
      if (step > 0)
        kernels_.multiply_panels({rows, 3 * hidden, hidden, work.state_sums_gradient, 3 * hidden,
                                  panels.const_data_ptr<float>(), state_gradient.mutable_data_ptr<float>(),
                                  hidden, false});
    }
    GruGradients found;
    found.input_weight = product_over_rows(of_inputs, moments_.flat_inputs());
    found.hidden_weight = recurrent_weight_gradient(moments_, number, of_state);
    found.input_bias = at::sum(of_inputs, 0);
    found.hidden_bias = at::sum(of_state, 0);
    if (with_inputs) found.inputs = at::mm(of_inputs, d.input_weight).view(moments_.inputs.sizes());
    return found;
  }

  const fused_cpu::Kernels& kernels_ = fused_cpu::best_kernels();
  RecurrentMoments moments_;
  std::vector<GruDirection> directions_;
};

class GruWayBack : public torch::autograd::Node {
 public:
  explicit GruWayBack(std::unique_ptr<GruLayer> layer) : layer_(std::move(layer)) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    const at::NoGradGuard no_autograd;
    torch::autograd::variable_list all(1);
    for (GruGradients& each : layer_->run_back(gradients.front(), task_should_compute_output(0))) {
      if (each.inputs.defined()) all[0] = all[0].defined() ? all[0].add_(each.inputs) : each.inputs;
      all.insert(all.end(), {each.input_weight, each.hidden_weight, each.input_bias, each.hidden_bias});
    }
    if (all[0].defined()) all[0] = all[0].transpose(0, 1);
    return all;
  }

  void release_variables() override { layer_.reset(); }

 private:
  std::unique_ptr<GruLayer> layer_;
};

}  // namespace

bool suits_own_gru(const at::Tensor& x, std::int64_t hidden) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && hidden % fused_cpu::panel == 0 &&
         !at::autocast::is_autocast_enabled(at::kCPU);
}

at::Tensor own_gru_layer(const at::Tensor& x, std::span<const at::Tensor> weights) {
  auto layer = std::make_unique<GruLayer>(x, weights);
  at::Tensor outputs;
  {
    const at::NoGradGuard no_autograd;
    outputs = layer->run().detach();
  }
  if (!at::GradMode::is_enabled()) return outputs;
  std::vector<at::Tensor> entering{x};
  entering.insert(entering.end(), weights.begin(), weights.end());
  record_way_back<GruWayBack>(outputs, entering, std::move(layer));
  return outputs;
}

}  // namespace stoker::torch_door
