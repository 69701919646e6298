#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json_fwd.hpp>

#include "config/field.h"
#include "data/table.h"
#include "model/model.h"
#include "train/spec.h"

namespace stoker {

// What flows from card to card.
enum class PortType { table, model_spec, model, report };

struct Port {
  std::string name;
  PortType type = PortType::table;
  std::string help;
};

// A report is JSON: metrics, curves, whatever a card wants to show.
using PortValue =
    std::variant<Table, ModelSpec, std::shared_ptr<const Model>, std::shared_ptr<const nlohmann::json>>;
using PortValues = std::map<std::string, PortValue>;

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 4> stoker::config::names<stoker::PortType>{
    "table", "model_spec", "model", "report"};
