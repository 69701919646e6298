#include "model/nodes/cube_data.h"

#include "model/nodes/nodes.h"
#include "model/nodes/wavelengths.h"

namespace stoker::nodes {
namespace {

// Where cubes enter the graph; what they are is told to whoever reads it. Its inputs are what enters.
class CubeData final : public NodeWith<CubeDataSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {}; }
  Ports outputs(const Ports&) const override {
    return {cube_port("cube", "The cubes"), mask_port("mask", "Marked pixels"), wavelengths_port()};
  }
  // What enters: whoever lets cubes in has put 1 in place of the classes that count as marked.
  Values forward(const Pass& pass) const override { return pass.inputs; }
};

}  // namespace

config::Fields fields(CubeDataSettings& s) {
  return {
      config::field("normal_class_ids", s.normal_class_ids, "Classes of a mask whose pixels are not marked")
          .within(0, 255)};
}

NodeType cube_data() {
  return type_of<CubeData>("CubeDataNode", NodeKind::data,
                           "Where cubes enter the graph, with masks and wavelengths");
}

}  // namespace stoker::nodes
