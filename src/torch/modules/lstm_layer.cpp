#include "torch/modules/lstm_layer.h"

#include <memory>
#include <utility>
#include <vector>

#include <ATen/autocast_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include "torch/modules/recurrent_moments.h"
#include "torch/modules/way_back.h"

namespace stoker::torch_door {
namespace {

// What one direction reads and leaves for its way back.
struct LstmDirection {
  at::Tensor input_weight;   // [4 hidden, columns]
  at::Tensor hidden_weight;  // [4 hidden, hidden]
  at::Tensor bias;           // both of them together
  at::Tensor gates;          // [length, rows, 4 hidden]
  at::Tensor cells;          // [length, rows, hidden]
  at::Tensor bent_cells;
};

struct LstmGradients {
  at::Tensor input_weight;
  at::Tensor hidden_weight;
  at::Tensor bias;
  at::Tensor inputs;  // undefined where nobody asks
};

class LstmLayer {
 public:
  LstmLayer(const at::Tensor& x, std::span<const at::Tensor> weights)
      : moments_(x, static_cast<std::int64_t>(weights.size() / 4), weights[1].size(1)) {
    for (std::size_t i = 0; i + 3 < weights.size(); i += 4) {
      LstmDirection direction;
      direction.input_weight = weights[i].detach();
      direction.hidden_weight = weights[i + 1].detach();
      direction.bias = at::add(weights[i + 2].detach(), weights[i + 3].detach());
      directions_.push_back(std::move(direction));
    }
  }

  at::Tensor run() {
    moments_.in_all_directions([this](std::int64_t number) { run_forward(number); });
    return moments_.outputs.transpose(0, 1);
  }

  std::vector<LstmGradients> run_back(const at::Tensor& gradient, bool with_inputs) {
    const at::Tensor by_moment = gradient_by_moments(gradient);
    std::vector<LstmGradients> all(directions_.size());
    moments_.in_all_directions([&](std::int64_t number) {
      all[static_cast<std::size_t>(number)] = run_backward(number, by_moment, with_inputs);
    });
    return all;
  }

 private:
  void run_forward(std::int64_t number) {
    LstmDirection& d = directions_[static_cast<std::size_t>(number)];
    const std::int64_t rows = moments_.rows();
    const std::int64_t hidden = moments_.hidden;
    const auto options = moments_.inputs.options();
    d.gates = at::empty({moments_.all(), 4 * hidden}, options);
    d.cells = at::empty({moments_.all(), hidden}, options);
    d.bent_cells = at::empty({moments_.all(), hidden}, options);
    at::addmm_out(d.gates, d.bias, moments_.flat_inputs(), d.input_weight.t());
    const at::Tensor panels =
        packed_panels(kernels_, d.hidden_weight, hidden, 4 * hidden, /*is_turned=*/true);
    for (std::int64_t step = 0; step < moments_.length(); ++step) {
      const std::int64_t at = moments_.moment(number, step);
      fused_cpu::LstmMoment work;
      work.rows = rows;
      work.hidden = hidden;
      work.gates = d.gates.mutable_data_ptr<float>() + at * rows * 4 * hidden;
      work.cell = d.cells.mutable_data_ptr<float>() + at * rows * hidden;
      work.bent_cell = d.bent_cells.mutable_data_ptr<float>() + at * rows * hidden;
      work.output = moments_.output(number, at);
      work.output_stride = moments_.width();
      if (step > 0) {
        const std::int64_t before = moments_.moment(number, step - 1);
        kernels_.multiply_panels({rows, hidden, 4 * hidden, moments_.output(number, before), moments_.width(),
                                  panels.const_data_ptr<float>(), work.gates, 4 * hidden, /*adds=*/true});
        work.cell_before = d.cells.const_data_ptr<float>() + before * rows * hidden;
      }
      kernels_.lstm_moment(work);
    }
  }

  LstmGradients run_backward(std::int64_t number, const at::Tensor& gradient, bool with_inputs) {
    const LstmDirection& d = directions_[static_cast<std::size_t>(number)];
    const std::int64_t rows = moments_.rows();
    const std::int64_t hidden = moments_.hidden;
    const auto options = moments_.inputs.options();
    const at::Tensor gate_gradient = at::empty({moments_.all(), 4 * hidden}, options);
    const at::Tensor cell_gradient = at::zeros({rows, hidden}, options);
    const at::Tensor state_gradient = at::empty({rows, hidden}, options);
    const at::Tensor panels =
        packed_panels(kernels_, d.hidden_weight, 4 * hidden, hidden, /*is_turned=*/false);
    for (std::int64_t step = moments_.length() - 1; step >= 0; --step) {
      const std::int64_t at = moments_.moment(number, step);
      fused_cpu::LstmMomentBack work;
      work.rows = rows;
      work.hidden = hidden;
      work.gates = d.gates.const_data_ptr<float>() + at * rows * 4 * hidden;
      if (step > 0)
        work.cell_before =
            d.cells.const_data_ptr<float>() + moments_.moment(number, step - 1) * rows * hidden;
      work.bent_cell = d.bent_cells.const_data_ptr<float>() + at * rows * hidden;
      work.output_gradient = gradient.const_data_ptr<float>() + moments_.place(number, at);
      work.output_stride = moments_.width();
      if (step + 1 < moments_.length()) work.state_gradient = state_gradient.const_data_ptr<float>();
      work.cell_gradient = cell_gradient.mutable_data_ptr<float>();
      work.gate_gradient = gate_gradient.mutable_data_ptr<float>() + at * rows * 4 * hidden;
      kernels_.lstm_moment_back(work);
      if (step > 0)
        kernels_.multiply_panels({rows, 4 * hidden, hidden, work.gate_gradient, 4 * hidden,
                                  panels.const_data_ptr<float>(), state_gradient.mutable_data_ptr<float>(),
                                  hidden, /*adds=*/false});
    }
    LstmGradients found;
    found.input_weight = product_over_rows(gate_gradient, moments_.flat_inputs());
    found.hidden_weight = recurrent_weight_gradient(moments_, number, gate_gradient);
    found.bias = at::sum(gate_gradient, 0);
    if (with_inputs) found.inputs = at::mm(gate_gradient, d.input_weight).view(moments_.inputs.sizes());
    return found;
  }

  const fused_cpu::Kernels& kernels_ = fused_cpu::best_kernels();
  RecurrentMoments moments_;
  std::vector<LstmDirection> directions_;
};

// Where the way back comes to a layer.
class LstmWayBack : public torch::autograd::Node {
 public:
  explicit LstmWayBack(std::unique_ptr<LstmLayer> layer) : layer_(std::move(layer)) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    const at::NoGradGuard no_autograd;
    torch::autograd::variable_list all(1);
    for (LstmGradients& each : layer_->run_back(gradients.front(), task_should_compute_output(0))) {
      if (each.inputs.defined()) all[0] = all[0].defined() ? all[0].add_(each.inputs) : each.inputs;
      all.insert(all.end(), {each.input_weight, each.hidden_weight, each.bias, each.bias});
    }
    if (all[0].defined()) all[0] = all[0].transpose(0, 1);
    return all;
  }

  void release_variables() override { layer_.reset(); }

 private:
  std::unique_ptr<LstmLayer> layer_;
};

}  // namespace

bool suits_own_lstm(const at::Tensor& x, std::int64_t hidden) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && hidden % fused_cpu::lstm_vector == 0 &&
         !at::autocast::is_autocast_enabled(at::kCPU);
}

at::Tensor own_lstm_layer(const at::Tensor& x, std::span<const at::Tensor> weights) {
  auto layer = std::make_unique<LstmLayer>(x, weights);
  at::Tensor outputs;
  {
    const at::NoGradGuard no_autograd;
    outputs = layer->run().detach();
  }
  if (!at::GradMode::is_enabled()) return outputs;
  std::vector<at::Tensor> entering{x};
  entering.insert(entering.end(), weights.begin(), weights.end());
  record_way_back<LstmWayBack>(outputs, entering, std::move(layer));
  return outputs;
}

}  // namespace stoker::torch_door
