#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/div.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tensor.h>

#include "model/nodes/wavelengths.h"
#include "torch/nodes/node_form.h"

// Nodes that scale channels or choose some of them.
namespace stoker::torch_door {
namespace {

constexpr std::initializer_list<std::int64_t> pixels_of_image{1, 2};

// The range of an image, where it is the image's own, is taken as given.
NodeTensors min_max(const NodePass& pass) {
  const at::Tensor& data = pass.input("data");
  const bool is_learnt = pass.is_set("use_running_stats");
  const at::Tensor given = data.detach();
  const at::Tensor least = is_learnt ? pass.array("running_min") : at::amin(given, pixels_of_image, true);
  const at::Tensor most = is_learnt ? pass.array("running_max") : at::amax(given, pixels_of_image, true);
  const at::Tensor factor = at::reciprocal(at::clamp_min(at::sub(most, least), pass.number("eps")));
  return {{"normalized", at::mul(at::sub(data, least), factor)}};
}

NodeTensors z_score(const NodePass& pass) {
  return {{"normalized",
           at::div(at::sub(pass.input("data"), pass.array("zscore_mean")), pass.array("zscore_std"))}};
}

NodeTensors unit_norm(const NodePass& pass) {
  const at::Tensor& data = pass.input("data");
  const at::Tensor length = at::linalg_vector_norm(data, 2, {-1}, true);
  return {{"normalized", at::div(data, at::clamp_min(length, pass.number("eps")))}};
}

NodeTensors bandpass(const NodePass& pass) {
  return {{"filtered", at::index_select(pass.input("data"), 3, pass.array("kept_channels").to(at::kLong))}};
}

// Three channels, each brought to the range from 0 to 1 within each image.
NodeTensors picture_of(const at::Tensor& cube, const at::Tensor& channels) {
  constexpr double least_range = 1e-8;
  const at::Tensor chosen = at::index_select(cube.detach(), 3, channels);
  const at::Tensor least = at::amin(chosen, pixels_of_image, true);
  const at::Tensor range =
      at::clamp_min(at::sub(at::amax(chosen, pixels_of_image, true), least), least_range);
  return {{"rgb_image", at::div(at::sub(chosen, least), range)}};
}

NodeTensors picture_at(const NodePass& pass, const std::vector<double>& wanted) {
  std::vector<std::int64_t> channels;
  for (const double each : wanted) channels.push_back(nodes::nearest_channel(pass.wavelengths, each));
  const at::Tensor& cube = pass.input("cube");
  return picture_of(cube, at::tensor(channels, at::kLong).to(cube.device()));
}

NodeTensors false_rgb(const NodePass& pass) {
  std::vector<double> wanted;
  for (const config::Value& each : *pass.settings.find("target_wavelengths")->get_if<config::Value::List>()) {
    const auto* whole = each.get_if<std::int64_t>();
    wanted.push_back(whole != nullptr ? static_cast<double>(*whole) : *each.get_if<double>());
  }
  return picture_at(pass, wanted);
}

NodeTensors cir_false_color(const NodePass& pass) {
  return picture_at(pass, {pass.number("nir_nm"), pass.number("red_nm"), pass.number("green_nm")});
}

NodeTensors supervised_picture(const NodePass& pass) {
  return picture_of(pass.input("cube"), pass.array("selected_indices").to(at::kLong));
}

}  // namespace

std::vector<NodeForm> forms_of_scales() {
  return {{"MinMaxNormalizer", min_max},
          {"ZScoreNormalizerGlobal", z_score},
          {"PerPixelUnitNorm", unit_norm},
          {"BandpassByWavelength", bandpass},
          {"BaselineFalseRGBSelector", false_rgb, false},
          {"CIRFalseColorSelector", cir_false_color, false},
          {"SupervisedFullSpectrumSelector", supervised_picture, false}};
}

}  // namespace stoker::torch_door
