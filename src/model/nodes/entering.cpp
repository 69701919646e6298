#include "model/nodes/entering.h"

#include "base/error.h"
#include "model/nodes/pixels.h"
#include "model/nodes/wavelengths.h"

namespace stoker::nodes {

Values values_of_data(const GraphNode& data, const Values& entering, Stage stage) {
  const Array& cube = value_at(entering, "cube");
  const Port& expected = *find_port(data.outputs, "cube");
  // No node minds cubes of another height or width than those that it was trained with.
  if (!fits(cube_port("cube", "", expected.shape.back()), cube.type(), cube.shape()))
    refuse("cubes of {} come to a graph for {}", describe(cube.type(), cube.shape()),
           describe(expected.type, expected.shape));
  if (const Array* mask = value_if(entering, "mask"))
    if (mask->type() != DType::uint8 || mask->shape() != with_last(cube.shape(), 1))
      refuse("masks of {} come with cubes of {}", describe(mask->type(), mask->shape()),
             describe(cube.type(), cube.shape()));
  if (const Array* wavelengths = value_if(entering, "wavelengths"))
    if (!wavelengths->empty()) check_wavelengths(wavelengths->size(), cube.type(), cube.shape());
  return data.node->forward({entering, {}, stage});
}

}  // namespace stoker::nodes
