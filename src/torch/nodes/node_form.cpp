#include "torch/nodes/node_form.h"

#include <algorithm>

namespace stoker::torch_door {

std::optional<double> NodePass::number_if(std::string_view name) const {
  const config::Value* value = settings.find(name);
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = value->get_if<std::int64_t>()) return static_cast<double>(*whole);
  const auto* number = value->get_if<double>();
  return number == nullptr ? std::nullopt : std::optional(*number);
}

bool NodePass::is_set(std::string_view name) const {
  const config::Value* value = settings.find(name);
  const auto* flag = value == nullptr ? nullptr : value->get_if<bool>();
  return flag != nullptr && *flag;
}

std::string NodePass::word(std::string_view name) const {
  const config::Value* value = settings.find(name);
  const auto* text = value == nullptr ? nullptr : value->get_if<std::string>();
  return text == nullptr ? "" : *text;
}

const NodeForm* find_form(std::string_view type) {
  static const std::vector<NodeForm> all = [] {
    std::vector<NodeForm> forms;
    for (const auto& some : {forms_of_scales(), forms_of_scores(), forms_of_mixtures(), forms_of_losses()})
      forms.insert(forms.end(), some.begin(), some.end());
    return forms;
  }();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const NodeForm& each) { return each.type == type; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace stoker::torch_door
