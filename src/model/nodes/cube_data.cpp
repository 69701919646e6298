#include "base/error.h"
#include "model/nodes/nodes.h"

namespace stoker::nodes {
namespace {

struct CubeDataSettings {
  std::vector<std::int64_t> normal_class_ids;
};

config::Fields fields(CubeDataSettings& s) {
  return {config::field("normal_class_ids", s.normal_class_ids,
                        "Classes of a mask that are not marked; of the cubes that are read, not of the graph")
              .optional()};
}

// Where cubes enter the graph; what they are is told to whoever reads it.
class CubeData final : public NodeWith<CubeDataSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {}; }
  Ports outputs(const Ports&) const override {
    return {cube_port("cube", "The cubes"),
            mask_port("mask", "Marked pixels"),
            {"wavelengths", DType::float32, {-1}, "Of the channels, in nanometres"}};
  }
  Values forward(const Pass&) const override { fail("cubes come from outside of the graph"); }
};

}  // namespace

NodeType cube_data() {
  return type_of<CubeData>("CubeDataNode", NodeKind::data,
                           "Where cubes enter the graph, with masks and wavelengths");
}

}  // namespace stoker::nodes
