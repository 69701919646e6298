#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/error.h"
#include "kernels/place.h"
#include "model/nodes/entering.h"
#include "model/nodes/pixels.h"
#include "model/nodes/score_matrix.h"

namespace stoker::nodes {
namespace {

// A port, by its node's place in the graph.
using PortPlace = std::pair<std::size_t, std::string>;

class StateLearner {
 public:
  StateLearner(const NodeGraph& graph, const CubeBatches& batches, const LearningOptions& options)
      : graph_(graph), batches_(batches), options_(options), has_state_(graph.nodes.size()) {}

  Learned learn() {
    while (true) {
      begin_what_can();
      if (std::ranges::all_of(has_state_, [](bool each) { return each; })) return std::move(learned_);
      pass_over_pixels();
    }
  }

 private:
  void begin_what_can() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (!has_state_[i]) has_state_[i] = try_to_begin(i);
  }

  bool try_to_begin(std::size_t index) {
    const GraphNode& node = graph_.nodes[index];
    if (node.type->kind == NodeKind::data) return true;
    Known known;
    known.seed = options_.seed + index;
    std::optional<kernels::Statistics> statistics;
    if (node.node->asks() != Asks::nothing) {
      const PortPlace place = place_of(node);
      if (node.node->asks() == Asks::labelled) {
        const auto found = labelled_.find(place);
        if (found == labelled_.end()) return false;
        known.labelled = &found->second;
      } else {
        statistics = known_at(place);
        if (!statistics || (node.node->asks() == Asks::extremes && statistics->least.empty())) return false;
        if (statistics->rows == 0) refuse("{} has no pixels to learn from", node.name);
        known.statistics = &*statistics;
      }
    }
    if (!node.inputs.empty() && !node.inputs[0].shape.empty() && node.inputs[0].shape.back() < 0)
      refuse("{} cannot begin: the number of its channels is only known with the wavelengths of the cubes",
             node.name);
    try {
      learned_.states[node.name] = node.node->begin(node.inputs, known);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", node.name, error.what()), error.cause());
    }
    return true;
  }

  static PortPlace place_of(const GraphNode& node) {
    const Link& link = node.sources.at(node.inputs[0].name);
    return {link.node, link.port};
  }

  // Found in a pass, or what follows from what was found before an affine node.
  std::optional<kernels::Statistics> known_at(const PortPlace& place) const {
    if (const auto found = found_.find(place); found != found_.end()) return found->second;
    const GraphNode& node = graph_.nodes[place.first];
    if (node.inputs.empty() || !has_state_[place.first] || node.outputs[0].name != place.second)
      return std::nullopt;
    const auto affine = node.node->affine(learned_.states.at(node.name));
    if (!affine) return std::nullopt;
    const auto before = known_at(place_of(node));
    if (!before) return std::nullopt;
    return follow(*before, *affine);
  }

  // All that nodes ask for whose sources can be computed.
  void pass_over_pixels() {
    std::set<PortPlace> wanted, wanted_labelled;  // each once, though several nodes ask there
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (has_state_[i] || !can_run_before(graph_.nodes[i])) continue;
      const bool is_labelled = graph_.nodes[i].node->asks() == Asks::labelled;
      (is_labelled ? wanted_labelled : wanted).insert(place_of(graph_.nodes[i]));
    }
    if (wanted.empty() && wanted_labelled.empty()) fail("nodes wait for each other's statistics");
    ++learned_.passes;
    find_at_once(wanted);
    if (wanted.empty() && wanted_labelled.empty()) return;
    for (const PortPlace& place : wanted) found_[place] = {};
    for (const PortPlace& place : wanted_labelled) labelled_[place] = {};
    std::int64_t first = 0;
    batches_([&](const Values& entering) {
      const GraphValues values = run_to(wanted, wanted_labelled, entering);
      for (const PortPlace& place : wanted) add_pixels(value_of(values, place), found_[place]);
      for (const PortPlace& place : wanted_labelled)
        add_labelled(value_of(values, place), marks_in(values), first, labelled_[place], steps_[place]);
      first += pixels_in(value_at(entering, "cube"));
    });
  }

  // What somebody else knows or finds faster.
  void find_at_once(std::set<PortPlace>& wanted) {
    for (auto place = wanted.begin(); place != wanted.end();) {
      const auto found = found_at_once(*place);
      if (found) found_[*place] = *found;
      place = found ? wanted.erase(place) : std::next(place);
    }
  }

  std::optional<kernels::Statistics> found_at_once(const PortPlace& place) const {
    const GraphNode& node = graph_.nodes[place.first];
    if (node.type->kind == NodeKind::data && place.second == "cube")
      return options_.of_all_pixels ? options_.of_all_pixels() : std::nullopt;
    if (node.type->name == "RXGlobal" && options_.of_all_scores) return scores_at_once(place.first);
    return std::nullopt;
  }

  // Pixels are measured from their mean, which is known where the nodes before the detector have learnt.
  std::optional<kernels::Statistics> scores_at_once(std::size_t detector) const {
    const auto before = before_detector(graph_, detector);
    if (!before) return std::nullopt;
    auto matrix = root_of_detector(learned_.states.at(graph_.nodes[detector].name));
    for (std::size_t i = before->nodes.size(); matrix && i-- > 0;) {
      const GraphNode& node = graph_.nodes[before->nodes[i]];
      const auto affine = node.node->affine(learned_.states.at(node.name));
      if (!affine) return std::nullopt;
      matrix = Homogeneous(*matrix * homogeneous(*affine));
    }
    const auto known = known_at({before->data, "cube"});
    if (!matrix || !known) return std::nullopt;
    const std::vector<float> near(known->mean.begin(), known->mean.end());
    const PixelMatrix shifted = (*matrix * shifting_by(near)).transpose().cast<float>();
    kernels::QuadraticScores work;
    work.columns = std::ssize(near);
    work.shift = near.data();
    work.matrix = shifted.data();
    work.outputs = shifted.cols();
    return options_.of_all_scores(work);
  }

  bool can_run_before(const GraphNode& node) const {
    return std::ranges::all_of(node.sources, [&](const auto& source) {
      const GraphNode& before = graph_.nodes[source.second.node];
      return has_state_[source.second.node] && can_run_before(before);
    });
  }

  // Only what leads to the ports that are wanted.
  GraphValues run_to(const std::set<PortPlace>& wanted, const std::set<PortPlace>& also,
                     const Values& entering) const {
    std::vector<bool> is_needed(graph_.nodes.size());
    for (const auto* places : {&wanted, &also})
      for (const PortPlace& place : *places) is_needed[place.first] = true;
    for (std::size_t i = graph_.nodes.size(); i-- > 0;)
      for (const auto& [port, link] : graph_.nodes[i].sources)
        if (is_needed[i]) is_needed[link.node] = true;
    GraphValues values;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const GraphNode& node = graph_.nodes[i];
      if (!is_needed[i]) continue;
      if (node.type->kind == NodeKind::data) {
        values[node.name] = values_of_data(node, entering, Stage::inference);
        continue;
      }
      Values inputs;
      for (const auto& [port, link] : node.sources) inputs[port] = value_of(values, {link.node, link.port});
      values[node.name] = node.node->forward({inputs, learned_.states.at(node.name), Stage::inference});
    }
    return values;
  }

  const Array& value_of(const GraphValues& values, const PortPlace& place) const {
    return value_at(values.at(graph_.nodes[place.first].name), place.second);
  }

  void add_pixels(const Array& cube, kernels::Statistics& found) const {
    const kernels::StatisticsWork work{cube.as<float>().data(), nullptr, pixels_in(cube), channels_in(cube),
                                       true};
    found.merge(kernels::covariance(work, options_.bad_pixels, {Device::cpu(), nullptr}));
  }

  // Of the node where the cubes enter, which every port that is wanted lies behind.
  std::span<const std::uint8_t> marks_in(const GraphValues& values) const {
    for (const GraphNode& node : graph_.nodes) {
      const auto found = values.find(node.name);
      if (node.type->kind != NodeKind::data || found == values.end()) continue;
      if (const Array* mask = value_if(found->second, "mask")) return mask->as<std::uint8_t>();
    }
    refuse("channels are to be chosen by marked pixels, but the cubes come without masks");
  }

  bool may_be_used(std::span<const float> pixel, std::int64_t number) const {
    if (std::ranges::all_of(pixel, [](float each) { return std::isfinite(each); })) return true;
    if (options_.bad_pixels == kernels::BadPixels::refuse)
      refuse(
          "pixel {} has a value that is not a finite number (NaN or infinite); bad_pixels: leave_out goes "
          "without such pixels",
          number);
    return false;
  }

  // Every so many pixels, as few as are needed: once there are too many, every second one is kept and as many
  // are skipped from then on.
  void add_labelled(const Array& cube, std::span<const std::uint8_t> marks, std::int64_t first,
                    LabelledPixels& to, std::int64_t& step) const {
    to.channels = channels_in(cube);
    step = std::max<std::int64_t>(step, 1);
    const auto width = static_cast<std::size_t>(to.channels);
    for (std::int64_t row = (step - first % step) % step; row < pixels_in(cube);) {
      const auto pixel = cube.as<float>().subspan(static_cast<std::size_t>(row) * width, width);
      if (may_be_used(pixel, first + row)) {
        to.values.insert(to.values.end(), pixel.begin(), pixel.end());
        to.marks.push_back(marks[static_cast<std::size_t>(row)]);
      }
      if (static_cast<std::int64_t>(to.marks.size()) <= options_.most_labelled) {
        row += step;
        continue;
      }
      keep_every_second(to);
      step *= 2;
      row += step - (first + row) % step;
    }
  }

  static void keep_every_second(LabelledPixels& pixels) {
    const auto channels = static_cast<std::size_t>(pixels.channels);
    const std::size_t kept = (pixels.marks.size() + 1) / 2;
    for (std::size_t i = 1; i < kept; ++i) {
      pixels.marks[i] = pixels.marks[2 * i];
      std::copy_n(pixels.values.begin() + static_cast<std::ptrdiff_t>(2 * i * channels), channels,
                  pixels.values.begin() + static_cast<std::ptrdiff_t>(i * channels));
    }
    pixels.marks.resize(kept);
    pixels.values.resize(kept * channels);
  }

  const NodeGraph& graph_;
  const CubeBatches& batches_;
  const LearningOptions& options_;
  std::vector<bool> has_state_;
  std::map<PortPlace, kernels::Statistics> found_;
  std::map<PortPlace, LabelledPixels> labelled_;
  std::map<PortPlace, std::int64_t> steps_;  // between the pixels that are kept of them
  Learned learned_;
};

}  // namespace

Learned learn_states(const NodeGraph& graph, const CubeBatches& batches, const LearningOptions& options) {
  return StateLearner(graph, batches, options).learn();
}

}  // namespace stoker::nodes
