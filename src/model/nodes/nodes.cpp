#include "model/nodes/nodes.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace stoker::nodes {

std::span<const NodeType> node_types() {
  static const std::array types{
      cube_data(),
      min_max_normalizer(),
      z_score_normalizer(),
      trainable_pca(),
      rx_global(),
      lad_global(),
      score_to_logit(),
      soft_channel_selector(),
      supervised_full_spectrum_selector(),
      learnable_channel_mixer(),
      deep_svdd_centre(),
      deep_svdd_projection(),
      deep_svdd_scores(),
      per_pixel_unit_norm(),
      rx_per_batch(),
      bandpass_by_wavelength(),
      spectral_angle_mapper(),
      baseline_false_rgb(),
      cir_false_color(),
      binary_decider(),
      quantile_binary_decider(),
      two_stage_binary_decider(),
      orthogonality_loss(),
      anomaly_bce(),
      mse_reconstruction(),
      iou_loss(),
      distinctness_loss(),
      selector_entropy(),
      selector_diversity(),
      deep_svdd_loss(),
      explained_variance_metric(),
      anomaly_detection_metrics(),
  };
  return types;
}

const NodeType* find_node_type(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  std::string_view own = dot == std::string_view::npos ? name : name.substr(dot + 1);
  if (own == "LentilsAnomalyDataNode") own = "CubeDataNode";
  const auto found = std::ranges::find(node_types(), own, &NodeType::name);
  return found == node_types().end() ? nullptr : &*found;
}

const NodeType* type_of_written(const config::Value& node) {
  const config::Value* type = node.find("type");
  if (type == nullptr) type = node.find("class_name");
  const auto* name = type == nullptr ? nullptr : type->get_if<std::string>();
  return name == nullptr ? nullptr : find_node_type(*name);
}

bool is_left_to_the_report(std::string_view name) {
  constexpr std::array names{"TensorBoardMonitorNode", "AnomalyMask",         "ScoreHeatmapVisualizer",
                             "CubeRGBVisualizer",      "PCAVisualization",    "PipelineComparisonVisualizer",
                             "RGBAnomalyMask",         "ImageArtifactVizBase"};
  const std::size_t dot = name.rfind('.');
  const std::string_view own = dot == std::string_view::npos ? name : name.substr(dot + 1);
  return std::ranges::find(names, own) != names.end();
}

std::string node_reference() {
  std::string text;
  for (const NodeType& type : node_types()) {
    const config::Described settings = type.describe();
    text += fmt::format("### {}\n{}.\n\n", type.name, type.help);
    if (!settings.fields.empty()) text += config::reference_table(settings.fields) + "\n";
  }
  return text;
}

}  // namespace stoker::nodes
