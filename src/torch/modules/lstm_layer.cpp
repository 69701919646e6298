#include "torch/modules/lstm_layer.h"

#include <ATen/ops/add.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include "torch/modules/recurrent_layer.h"
#include "torch/modules/way_back.h"

namespace stoker::torch_door {
namespace {

class LstmDirection {
 public:
  explicit LstmDirection(std::span<const at::Tensor> weights)
      : input_weight_(weights[0].detach()),
        hidden_weight_(weights[1].detach()),
        bias_(at::add(weights[2].detach(), weights[3].detach())) {}

  void run_forward(const RecurrentMoments& moments, std::int64_t number) {
    const std::int64_t rows = moments.rows();
    const std::int64_t hidden = moments.hidden;
    const auto options = moments.inputs.options();
    gates_ = at::empty({moments.all(), 4 * hidden}, options);
    cells_ = at::empty({moments.all(), hidden}, options);
    bent_cells_ = at::empty({moments.all(), hidden}, options);
    at::addmm_out(gates_, bias_, moments.flat_inputs(), input_weight_.t());
    const at::Tensor panels = packed_panels(kernels_, hidden_weight_, hidden, 4 * hidden, /*is_turned=*/true);
    for (std::int64_t step = 0; step < moments.length(); ++step) {
      const std::int64_t at = moments.moment(number, step);
      fused_cpu::LstmMoment work;
      work.rows = rows;
      work.hidden = hidden;
      work.gates = gates_.mutable_data_ptr<float>() + at * rows * 4 * hidden;
      work.cell = cells_.mutable_data_ptr<float>() + at * rows * hidden;
      work.bent_cell = bent_cells_.mutable_data_ptr<float>() + at * rows * hidden;
      work.output = moments.output(number, at);
      work.output_stride = moments.width();
      if (step > 0) {
        const std::int64_t before = moments.moment(number, step - 1);
        kernels_.multiply_panels({rows, hidden, 4 * hidden, moments.output(number, before), moments.width(),
                                  panels.const_data_ptr<float>(), work.gates, 4 * hidden, /*adds=*/true});
        work.cell_before = cells_.const_data_ptr<float>() + before * rows * hidden;
      }
      kernels_.lstm_moment(work);
    }
  }

  RecurrentGradients run_backward(const RecurrentMoments& moments, std::int64_t number,
                                  const at::Tensor& gradient, bool with_inputs) const {
    const std::int64_t rows = moments.rows();
    const std::int64_t hidden = moments.hidden;
    const auto options = moments.inputs.options();
    const at::Tensor gate_gradient = at::empty({moments.all(), 4 * hidden}, options);
    const at::Tensor cell_gradient = at::zeros({rows, hidden}, options);
    const at::Tensor state_gradient = at::empty({rows, hidden}, options);
    const at::Tensor panels =
        packed_panels(kernels_, hidden_weight_, 4 * hidden, hidden, /*is_turned=*/false);
    for (std::int64_t step = moments.length() - 1; step >= 0; --step) {
      const std::int64_t at = moments.moment(number, step);
      fused_cpu::LstmMomentBack work;
      work.rows = rows;
      work.hidden = hidden;
      work.gates = gates_.const_data_ptr<float>() + at * rows * 4 * hidden;
      if (step > 0)
        work.cell_before = cells_.const_data_ptr<float>() + moments.moment(number, step - 1) * rows * hidden;
      work.bent_cell = bent_cells_.const_data_ptr<float>() + at * rows * hidden;
      work.output_gradient = gradient.const_data_ptr<float>() + moments.place(number, at);
      work.output_stride = moments.width();
      if (step + 1 < moments.length()) work.state_gradient = state_gradient.const_data_ptr<float>();
      work.cell_gradient = cell_gradient.mutable_data_ptr<float>();
      work.gate_gradient = gate_gradient.mutable_data_ptr<float>() + at * rows * 4 * hidden;
      kernels_.lstm_moment_back(work);
      if (step > 0)
        kernels_.multiply_panels({rows, 4 * hidden, hidden, work.gate_gradient, 4 * hidden,
                                  panels.const_data_ptr<float>(), state_gradient.mutable_data_ptr<float>(),
                                  hidden, /*adds=*/false});
    }
    RecurrentGradients found;
    const at::Tensor of_bias = at::sum(gate_gradient, 0);
    found.weights = {product_over_rows(gate_gradient, moments.flat_inputs()),
                     recurrent_weight_gradient(moments, number, gate_gradient), of_bias, of_bias};
    if (with_inputs) found.inputs = at::mm(gate_gradient, input_weight_).view(moments.inputs.sizes());
    return found;
  }

 private:
  const fused_cpu::Kernels& kernels_ = fused_cpu::best_kernels();
  at::Tensor input_weight_;   // [4 hidden, columns]
  at::Tensor hidden_weight_;  // [4 hidden, hidden]
  at::Tensor bias_;           // both of them together
  // For the way back:
  at::Tensor gates_;  // [length, rows, 4 hidden]
  at::Tensor cells_;  // [length, rows, hidden]
  at::Tensor bent_cells_;
};

}  // namespace

at::Tensor own_lstm_layer(const at::Tensor& x, std::span<const at::Tensor> weights) {
  return run_own_layer<RecurrentLayer<LstmDirection>>(x, weights);
}

}  // namespace stoker::torch_door
