#include "torch/modules/gru_layer.h"

#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include "torch/modules/recurrent_layer.h"
#include "torch/modules/way_back.h"

namespace stoker::torch_door {
namespace {

class GruDirection {
 public:
  explicit GruDirection(std::span<const at::Tensor> weights)
      : input_weight_(weights[0].detach()),
        hidden_weight_(weights[1].detach()),
        input_bias_(weights[2].detach()),
        hidden_bias_(weights[3].detach()) {}

  void run_forward(const RecurrentMoments& moments, std::int64_t number) {
    const std::int64_t rows = moments.rows();
    const std::int64_t hidden = moments.hidden;
    const auto options = moments.inputs.options();
    gates_ = at::empty({moments.all(), 3 * hidden}, options);
    state_news_ = at::empty({moments.all(), hidden}, options);
    at::addmm_out(gates_, input_bias_, moments.flat_inputs(), input_weight_.t());
    const at::Tensor panels = packed_panels(kernels_, hidden_weight_, hidden, 3 * hidden, /*is_turned=*/true);
    const at::Tensor state_sums = at::empty({rows, 3 * hidden}, options);
    for (std::int64_t step = 0; step < moments.length(); ++step) {
      const std::int64_t at = moments.moment(number, step);
      fused_cpu::GruMoment work;
      work.rows = rows;
      work.hidden = hidden;
      work.gates = gates_.mutable_data_ptr<float>() + at * rows * 3 * hidden;
      work.state_bias = hidden_bias_.const_data_ptr<float>();
      work.state_news = state_news_.mutable_data_ptr<float>() + at * rows * hidden;
      work.output = moments.output(number, at);
      work.output_stride = moments.width();
      if (step > 0) {
        work.before = moments.output(number, moments.moment(number, step - 1));
        work.state_sums = state_sums.const_data_ptr<float>();
        kernels_.multiply_panels({rows, hidden, 3 * hidden, work.before, work.output_stride,
                                  panels.const_data_ptr<float>(), state_sums.mutable_data_ptr<float>(),
                                  3 * hidden, false});
      }
      kernels_.gru_moment(work);
    }
  }

  RecurrentGradients run_backward(const RecurrentMoments& moments, std::int64_t number,
                                  const at::Tensor& gradient, bool with_inputs) const {
    const std::int64_t rows = moments.rows();
    const std::int64_t hidden = moments.hidden;
    const auto options = moments.inputs.options();
    const at::Tensor of_inputs = at::empty({moments.all(), 3 * hidden}, options);
    const at::Tensor of_state = at::empty({moments.all(), 3 * hidden}, options);
    const at::Tensor kept_gradient = at::zeros({rows, hidden}, options);
    const at::Tensor state_gradient = at::empty({rows, hidden}, options);
    const at::Tensor panels =
        packed_panels(kernels_, hidden_weight_, 3 * hidden, hidden, /*is_turned=*/false);
    for (std::int64_t step = moments.length() - 1; step >= 0; --step) {
      const std::int64_t at = moments.moment(number, step);
      fused_cpu::GruMomentBack work;
      work.rows = rows;
      work.hidden = hidden;
      work.gates = gates_.const_data_ptr<float>() + at * rows * 3 * hidden;
      work.state_news = state_news_.const_data_ptr<float>() + at * rows * hidden;
      if (step > 0) work.before = moments.output(number, moments.moment(number, step - 1));
      work.output_gradient = gradient.const_data_ptr<float>() + moments.place(number, at);
      work.output_stride = moments.width();
      work.kept_gradient = kept_gradient.mutable_data_ptr<float>();
      if (step + 1 < moments.length()) work.state_gradient = state_gradient.const_data_ptr<float>();
      work.input_sums_gradient = of_inputs.mutable_data_ptr<float>() + at * rows * 3 * hidden;
      work.state_sums_gradient = of_state.mutable_data_ptr<float>() + at * rows * 3 * hidden;
      kernels_.gru_moment_back(work);
      if (step > 0)
        kernels_.multiply_panels({rows, 3 * hidden, hidden, work.state_sums_gradient, 3 * hidden,
                                  panels.const_data_ptr<float>(), state_gradient.mutable_data_ptr<float>(),
                                  hidden, false});
    }
    RecurrentGradients found;
    found.weights = {product_over_rows(of_inputs, moments.flat_inputs()),
                     recurrent_weight_gradient(moments, number, of_state), at::sum(of_inputs, 0),
                     at::sum(of_state, 0)};
    if (with_inputs) found.inputs = at::mm(of_inputs, input_weight_).view(moments.inputs.sizes());
    return found;
  }

 private:
  const fused_cpu::Kernels& kernels_ = fused_cpu::best_kernels();
  at::Tensor input_weight_;   // [3 hidden, columns]
  at::Tensor hidden_weight_;  // [3 hidden, hidden]
  at::Tensor input_bias_;
  at::Tensor hidden_bias_;
  // For the way back:
  at::Tensor gates_;       // [length, rows, 3 hidden]
  at::Tensor state_news_;  // [length, rows, hidden]
};

}  // namespace

at::Tensor own_gru_layer(const at::Tensor& x, std::span<const at::Tensor> weights) {
  return run_own_layer<RecurrentLayer<GruDirection>>(x, weights);
}

}  // namespace stoker::torch_door
