#include "families/window_line.h"

#include <cmath>

#include <ATen/ops/linear.h>

#include "model/family.h"
#include "torch/modules/module.h"

namespace stoker::test {
namespace {

class WindowLine : public torch_door::Module {
 public:
  explicit WindowLine(const torch_door::Parameters& parameters)
      : weight_(parameters("weight")), bias_(parameters("bias")) {}

  at::Tensor outputs(std::span<const at::Tensor> inputs, const torch_door::Pass&) const override {
    return at::linear(inputs[0].flatten(1), weight_, bias_);
  }
  std::vector<torch_door::DropoutLayer> dropout_layers() const override { return {}; }
  std::int64_t widest() const override { return weight_.size(1); }

 private:
  at::Tensor weight_, bias_;
};

std::unique_ptr<torch_door::Module> make_window_line(const Network&,
                                                     const torch_door::Parameters& parameters) {
  return std::make_unique<WindowLine>(parameters);
}

struct NoLineSettings {};
config::Fields fields(NoLineSettings&) {
  return {};
}

std::vector<ParameterSpec> line_parameters(const Network& network) {
  const std::int64_t width = feature_width(network);
  const double bound = 1 / std::sqrt(static_cast<double>(width));
  return {{"weight", DType::float32, {network.outputs, width}, bound},
          {"bias", DType::float32, {network.outputs}, bound}};
}

InputForm line_form(const config::Value&) {
  InputForm form = Scaling::standard;
  form.reads_windows = true;
  return form;
}

}  // namespace

void add_window_line() {
  static const bool added = [] {
    Family family;
    family.name = "window_line";
    family.describe = config::described<NoLineSettings>;
    family.parameters = line_parameters;
    family.form = line_form;
    add_family(family);
    torch_door::add_module("window_line", make_window_line);
    return true;
  }();
  static_cast<void>(added);
}

}  // namespace stoker::test
