#include "torch/modules/lstm_layer.h"

#include <memory>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "fused/cpu/step.h"

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

// A layer from one end to the other; moments lie one behind the other, each with all rows.
class LstmLayer {
 public:
  LstmLayer(const at::Tensor& x, std::span<const at::Tensor> weights)
      : inputs_(x.detach().transpose(0, 1).contiguous()) {
    for (std::size_t i = 0; i + 3 < weights.size(); i += 4) {
      LstmDirection direction;
      direction.input_weight = weights[i].detach();
      direction.hidden_weight = weights[i + 1].detach();
      direction.bias = at::add(weights[i + 2].detach(), weights[i + 3].detach());
      directions_.push_back(std::move(direction));
    }
    hidden_ = directions_.front().hidden_weight.size(1);
    outputs_ = at::empty({length(), rows(), count() * hidden_}, inputs_.options());
  }

  at::Tensor run() {
    in_all_directions([this](std::int64_t number) { run_forward(number); });
    return outputs_.transpose(0, 1);
  }

  std::vector<LstmGradients> run_back(const at::Tensor& gradient, bool with_inputs) {
    at::Tensor by_moment = gradient.transpose(0, 1).contiguous();
    constexpr std::uintptr_t vector_bytes = 64;
    if (reinterpret_cast<std::uintptr_t>(by_moment.const_data_ptr()) % vector_bytes != 0)
      by_moment = by_moment.clone();  // a part of something larger, which need not begin at a vector
    std::vector<LstmGradients> all(directions_.size());
    in_all_directions([&](std::int64_t number) {
      all[static_cast<std::size_t>(number)] = run_backward(number, by_moment, with_inputs);
    });
    return all;
  }

 private:
  std::int64_t length() const { return inputs_.size(0); }
  std::int64_t rows() const { return inputs_.size(1); }
  std::int64_t count() const { return static_cast<std::int64_t>(directions_.size()); }

  // The modes of LibTorch are those of a thread.
  template <class Work>
  void in_all_directions(Work work) const {
    const bool in_inference = c10::InferenceMode::is_enabled();
    at::parallel_for(0, count(), 1, [&](std::int64_t first, std::int64_t end) {
      const c10::InferenceMode same(in_inference);
      const at::NoGradGuard no_autograd;
      for (std::int64_t number = first; number < end; ++number) work(number);
    });
  }

  // The moments in the order in which a direction comes to them.
  std::int64_t moment(std::int64_t number, std::int64_t step) const {
    return number == 0 ? step : length() - 1 - step;
  }
  at::Tensor outputs_of(std::int64_t number) const { return outputs_.narrow(2, number * hidden_, hidden_); }

  void run_forward(std::int64_t number) {
    LstmDirection& d = directions_[static_cast<std::size_t>(number)];
    const auto options = inputs_.options();
    d.gates = at::empty({length(), rows(), 4 * hidden_}, options);
    d.cells = at::empty({length(), rows(), hidden_}, options);
    d.bent_cells = at::empty({length(), rows(), hidden_}, options);
    at::Tensor sums = d.gates.view({length() * rows(), 4 * hidden_});
    at::addmm_out(sums, d.bias, inputs_.view({length() * rows(), -1}), d.input_weight.t());
    const at::Tensor weight = d.hidden_weight.t();
    const at::Tensor outputs = outputs_of(number);
    for (std::int64_t step = 0; step < length(); ++step) {
      const std::int64_t at = moment(number, step);
      at::Tensor gates = d.gates.select(0, at);
      fused_cpu::LstmMoment work;
      if (step > 0) {
        const std::int64_t before = moment(number, step - 1);
        at::addmm_out(gates, gates, outputs.select(0, before), weight);
        work.cell_before = d.cells.const_data_ptr<float>() + before * rows() * hidden_;
      }
      work.rows = rows();
      work.hidden = hidden_;
      work.gates = gates.mutable_data_ptr<float>();
      work.cell = d.cells.mutable_data_ptr<float>() + at * rows() * hidden_;
      work.bent_cell = d.bent_cells.mutable_data_ptr<float>() + at * rows() * hidden_;
      work.output = outputs.select(0, at).mutable_data_ptr<float>();
      work.output_stride = outputs_.size(2);
      kernels_.lstm_moment(work);
    }
  }

  LstmGradients run_backward(std::int64_t number, const at::Tensor& gradient, bool with_inputs) {
    const LstmDirection& d = directions_[static_cast<std::size_t>(number)];
    const auto options = inputs_.options();
    const at::Tensor gate_gradient = at::empty({length(), rows(), 4 * hidden_}, options);
    const at::Tensor cell_gradient = at::zeros({rows(), hidden_}, options);
    at::Tensor state_gradient = at::empty({rows(), hidden_}, options);
    for (std::int64_t step = length() - 1; step >= 0; --step) {
      const std::int64_t at = moment(number, step);
      fused_cpu::LstmMomentBack work;
      work.rows = rows();
      work.hidden = hidden_;
      work.gates = d.gates.const_data_ptr<float>() + at * rows() * 4 * hidden_;
      if (step > 0)
        work.cell_before = d.cells.const_data_ptr<float>() + moment(number, step - 1) * rows() * hidden_;
      work.bent_cell = d.bent_cells.const_data_ptr<float>() + at * rows() * hidden_;
      work.output_gradient =
          gradient.const_data_ptr<float>() + at * rows() * outputs_.size(2) + number * hidden_;
      work.output_stride = outputs_.size(2);
      if (step + 1 < length()) work.state_gradient = state_gradient.const_data_ptr<float>();
      work.cell_gradient = cell_gradient.mutable_data_ptr<float>();
      work.gate_gradient = gate_gradient.mutable_data_ptr<float>() + at * rows() * 4 * hidden_;
      kernels_.lstm_moment_back(work);
      if (step > 0) at::mm_out(state_gradient, gate_gradient.select(0, at), d.hidden_weight);
    }
    return gradients_from(number, gate_gradient, with_inputs);
  }

  // Over all moments at once.
  LstmGradients gradients_from(std::int64_t number, const at::Tensor& gate_gradient, bool with_inputs) const {
    const LstmDirection& d = directions_[static_cast<std::size_t>(number)];
    const std::int64_t all = length() * rows();
    const at::Tensor flat = gate_gradient.view({all, 4 * hidden_});
    const at::Tensor transposed = flat.t();
    LstmGradients found;
    found.input_weight = at::mm(transposed, inputs_.view({all, -1}));
    found.bias = at::sum(flat, 0);
    // The first moment of a direction has none before it.
    const std::int64_t rest = all - rows();
    const at::Tensor states = outputs_of(number).view({all, hidden_});
    const std::int64_t later = number == 0 ? rows() : 0;
    const std::int64_t earlier = number == 0 ? 0 : rows();
    found.hidden_weight = at::mm(transposed.narrow(1, later, rest), states.narrow(0, earlier, rest));
    if (with_inputs) found.inputs = at::mm(flat, d.input_weight).view(inputs_.sizes());
    return found;
  }

  const fused_cpu::Kernels& kernels_ = fused_cpu::best_kernels();
  at::Tensor inputs_;  // [length, rows, columns]
  std::vector<LstmDirection> directions_;
  std::int64_t hidden_ = 0;
  at::Tensor outputs_;  // [length, rows, directions * hidden]
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
  const auto way_back = c10::make_intrusive<LstmWayBack>(std::move(layer));
  way_back->set_next_edges(torch::autograd::collect_next_edges(entering));
  torch::autograd::set_history(outputs, way_back);
  return outputs;
}

}  // namespace stoker::torch_door
