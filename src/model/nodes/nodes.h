#pragma once

#include <span>

#include "model/nodes/node.h"

namespace stoker::nodes {

std::span<const NodeType> node_types();
// By its name, or by cuvis.ai's name of a class with its module in front; null when there is none.
const NodeType* find_node_type(std::string_view name);
// Of a node as it is written, with `type` or `class_name`; null when that says none.
const NodeType* type_of_written(const config::Value& node);
// Of cuvis.ai, that draw or report: here a run does so by itself.
bool is_left_to_the_report(std::string_view name);
// The settings and ports of all types, as Markdown.
std::string node_reference();

NodeType cube_data();

NodeType min_max_normalizer();
NodeType z_score_normalizer();
NodeType trainable_pca();
NodeType rx_global();
NodeType lad_global();
NodeType score_to_logit();
NodeType soft_channel_selector();
NodeType supervised_full_spectrum_selector();
NodeType learnable_channel_mixer();
NodeType deep_svdd_centre();

NodeType deep_svdd_projection();
NodeType deep_svdd_scores();
NodeType per_pixel_unit_norm();
NodeType rx_per_batch();
NodeType bandpass_by_wavelength();
NodeType spectral_angle_mapper();
NodeType baseline_false_rgb();
NodeType cir_false_color();

NodeType binary_decider();
NodeType quantile_binary_decider();
NodeType two_stage_binary_decider();

NodeType orthogonality_loss();
NodeType anomaly_bce();
NodeType mse_reconstruction();
NodeType iou_loss();
NodeType distinctness_loss();
NodeType selector_entropy();
NodeType selector_diversity();
NodeType deep_svdd_loss();

NodeType explained_variance_metric();
NodeType anomaly_detection_metrics();

}  // namespace stoker::nodes
