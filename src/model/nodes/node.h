#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/described.h"
#include "device/array.h"
#include "kernels/statistics.h"
#include "model/nodes/affine.h"

// Nodes over spectral cubes. A type of node is a file in this folder and a line in the table of nodes.cpp.
namespace stoker::nodes {

// Where values enter or leave a node. Cubes are [batch, height, width, channels].
struct Port {
  std::string name;
  DType type = DType::float32;  // decisions and masks are uint8: 0 or 1
  Shape shape;                  // -1: any, or not known yet
  std::string help;
  bool is_optional = false;
  std::vector<double> values = {};  // where they are known before anything runs: the wavelengths
};
using Ports = std::vector<Port>;

// Those of any cube, and of one number for each pixel.
Port cube_port(std::string name, std::string help, std::int64_t channels = -1);
Port mask_port(std::string name, std::string help);
// "float32 [-1, -1, -1, 50]", for people: sizes that are not known are "any".
std::string describe(DType type, const Shape& shape);
// Of a port by its name; null when there is none.
const Port* find_port(const Ports& ports, std::string_view name);
// Whether an array of this type and shape may come to a port.
bool fits(const Port& wanted, DType type, const Shape& shape);
Shape with_last(Shape shape, std::int64_t last);  // of which the last dimension is another
// Channels of the cube at that port, -1 when nobody knows yet.
std::int64_t channels_of(const Ports& ports, std::string_view name);

using Values = std::map<std::string, Array, std::less<>>;
const Array& value_at(const Values& values, std::string_view port);  // fails when there is none
const Array* value_if(const Values& values, std::string_view port);

enum class Stage : std::uint8_t { train, val, test, inference };

// What a node wants to know of all training pixels before it can be used.
enum class Asks : std::uint8_t {
  nothing,
  extremes,  // the least and the most of each channel
  moments,   // means and variances
  products,  // covariances
  labelled,  // pixels with the class that the mask gives them
};

// Some of the training pixels, and which of them are marked.
struct LabelledPixels {
  std::vector<float> values;  // [rows, channels]
  std::vector<std::uint8_t> marks;
  std::int64_t channels = 0;
};

// What is known of the cube at a node's first port.
struct Known {
  const kernels::Statistics* statistics = nullptr;
  const LabelledPixels* labelled = nullptr;
  std::uint64_t seed = 42;
};

struct Pass {
  const Values& inputs;
  const NamedArrays& state;
  Stage stage = Stage::inference;
};

// What came out of a pass forward and how the loss changes with it: a port without a gradient has no part in
// the loss.
struct PassBack {
  const Values& inputs;
  const NamedArrays& state;
  const Values& outputs;
  const Values& gradients;
  bool goes_further = true;  // else nobody asks how the loss changes with the inputs
};

struct Gradients {
  Values inputs;
  NamedArrays state;  // of the arrays that can be trained, by their names
};

// One node of a graph, its settings read. What it has learned is its state, which lies beside it.
class Node {
 public:
  virtual ~Node() = default;

  virtual Ports inputs() const = 0;
  // Given what is connected, which fits inputs(); refuses what cannot be (more components than channels).
  virtual Ports outputs(const Ports& connected) const = 0;

  virtual Asks asks() const { return Asks::nothing; }
  // Its arrays as they begin. `known` has what it asked for.
  virtual NamedArrays begin(const Ports& connected, const Known& known) const;
  // Names of arrays in its state that gradients may change, where somebody unfreezes it.
  virtual std::vector<std::string> trainable() const { return {}; }
  // Where its first output is an affine function of its first input: which. What is known of the one then
  // tells what is known of the other.
  virtual std::optional<Affine> affine(const NamedArrays& state) const;

  // How a loss changes with its arrays, given how it changes with the matrix and the offset of affine().
  // None: they cannot be trained in this way.
  virtual std::optional<NamedArrays> affine_gradient(const NamedArrays& state, const Affine& changes) const;
  // In training it is what affine() says of it.
  virtual bool is_affine_in_training() const { return true; }

  virtual Values forward(const Pass& pass) const = 0;
  virtual Gradients backward(const PassBack& pass) const;  // refuses unless a node has one

  // What it makes of a pixel depends on the other pixels of the image.
  virtual bool looks_at_images() const { return false; }
  // Its output `loss` is part of what is trained.
  virtual bool is_loss() const { return false; }
  // Before an epoch, counted from 0: what changes with time.
  virtual void begin_epoch(std::int64_t epoch, NamedArrays& state) const;
  // After a training batch: what of its state follows the pixels without a gradient.
  virtual void follow_batch(const Values& outputs, NamedArrays& state) const;
};

enum class NodeKind : std::uint8_t { data, statistical, stateless, decider, loss, metric };

struct NodeType {
  std::string_view name;  // as cuvis.ai has it
  NodeKind kind;
  std::string_view help;
  config::Described (*describe)();
  std::unique_ptr<Node> (*make)(const config::Value& settings);
};

// A node with settings that `fields` declares.
template <class SettingsOfNode>
class NodeWith : public Node {
 public:
  using Settings = SettingsOfNode;
  explicit NodeWith(Settings settings) : settings_(std::move(settings)) {}

 protected:
  Settings settings_;
};

struct NoSettings {};
inline config::Fields fields(NoSettings&) {
  return {};
}

template <class Settings>
Settings settings_from(const config::Value& given) {
  config::Diagnostics diagnostics("the settings of a node");
  auto read = config::read<Settings>(given, "", diagnostics);
  diagnostics.refuse_if_any();
  return read;
}

template <class MadeNode>
std::unique_ptr<Node> make_node(const config::Value& settings) {
  return std::make_unique<MadeNode>(settings_from<typename MadeNode::Settings>(settings));
}

template <class MadeNode>
constexpr NodeType type_of(std::string_view name, NodeKind kind, std::string_view help) {
  return {name, kind, help, config::described<typename MadeNode::Settings>, make_node<MadeNode>};
}

}  // namespace stoker::nodes
