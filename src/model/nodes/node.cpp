#include "model/nodes/node.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker::nodes {

Port cube_port(std::string name, std::string help, std::int64_t channels) {
  return {std::move(name), DType::float32, {-1, -1, -1, channels}, std::move(help)};
}

Port mask_port(std::string name, std::string help) {
  return {std::move(name), DType::uint8, {-1, -1, -1, 1}, std::move(help)};
}

std::string describe(DType type, const Shape& shape) {
  std::vector<std::string> sizes;
  for (const std::int64_t each : shape) sizes.push_back(each < 0 ? "any" : fmt::format("{}", each));
  return fmt::format("{} [{}]", name_of(type), join(sizes, ", "));
}

const Port* find_port(const Ports& ports, std::string_view name) {
  const auto found = std::ranges::find(ports, name, &Port::name);
  return found == ports.end() ? nullptr : &*found;
}

bool fits(const Port& wanted, DType type, const Shape& shape) {
  if (wanted.type != type || wanted.shape.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (wanted.shape[i] >= 0 && shape[i] >= 0 && wanted.shape[i] != shape[i]) return false;
  return true;
}

Shape with_last(Shape shape, std::int64_t last) {
  shape.back() = last;
  return shape;
}

std::int64_t channels_of(const Ports& ports, std::string_view name) {
  const Port* port = find_port(ports, name);
  return port == nullptr || port->shape.empty() ? -1 : port->shape.back();
}

const Array& value_at(const Values& values, std::string_view port) {
  const Array* found = value_if(values, port);
  if (found == nullptr) fail("nothing came to the port '{}'", port);
  return *found;
}

const Array* value_if(const Values& values, std::string_view port) {
  const auto found = values.find(port);
  return found == values.end() ? nullptr : &found->second;
}

NamedArrays Node::begin(const Ports&, const Known&) const {
  return {};
}

std::optional<Affine> Node::affine(const NamedArrays&) const {
  return std::nullopt;
}

std::optional<NamedArrays> Node::affine_gradient(const NamedArrays&, const Affine&) const {
  return std::nullopt;
}

Gradients Node::backward(const PassBack&) const {
  refuse("no gradient goes through this node: nothing before it can be trained by a loss behind it");
}

void Node::begin_epoch(std::int64_t, NamedArrays&) const {}
void Node::follow_batch(const Values&, NamedArrays&) const {}

}  // namespace stoker::nodes
