#include "pipeline/card/port_files.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "config/json_text.h"
#include "model/safetensors.h"
#include "pipeline/document/model_definition.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::size_t largest_json = 1U << 30;
// A table of the cache that is larger is mapped into memory instead of read.
constexpr std::uint64_t mapped_table_bytes = std::uint64_t{16} << 20U;

void write_json(const json& value, const std::filesystem::path& path) {
  // Names of columns may hold any bytes.
  write_file(path, config::json_text(value));
}

json read_json(const std::filesystem::path& path) {
  json value = json::parse(read_file(path, largest_json), nullptr, false);
  if (value.is_discarded()) refuse("{} is not valid JSON", path.string());
  return value;
}

}  // namespace

std::string port_file_name(const Port& port) {
  switch (port.type) {
    case PortType::table:
      return port.name + ".arrow";
    case PortType::model:
      return port.name;
    case PortType::arrays:
    case PortType::batch:
    case PortType::network:
    case PortType::optimizer:
      return port.name + ".safetensors";
    case PortType::model_spec:
    case PortType::report:
      break;
  }
  return port.name + ".json";
}

void write_port_value(const PortValue& value, const Port& port, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / port_file_name(port);
  switch (port.type) {
    case PortType::table:
      return write_arrow(std::get<Table>(value), path);
    case PortType::model:
      return save_model(*std::get<std::shared_ptr<const Model>>(value), path);
    case PortType::model_spec:
      return write_json(spec_to_json(std::get<ModelSpec>(value)), path);
    case PortType::report:
      return write_json(*std::get<std::shared_ptr<const json>>(value), path);
    case PortType::arrays:
    case PortType::batch:
    case PortType::network:
    case PortType::optimizer:
      return write_safetensors(path, *std::get<std::shared_ptr<const NamedArrays>>(value));
  }
}

PortValue read_port_value(const Port& port, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / port_file_name(port);
  switch (port.type) {
    case PortType::table:
      return open_arrow(path, mapped_table_bytes);
    case PortType::model:
      return std::make_shared<const Model>(load_model(path, true));
    case PortType::model_spec:
      return spec_from_json(read_json(path));
    case PortType::arrays:
    case PortType::batch:
    case PortType::network:
    case PortType::optimizer:
      return std::make_shared<const NamedArrays>(read_safetensors(path));
    case PortType::report:
      break;
  }
  return std::make_shared<const json>(read_json(path));
}

}  // namespace stoker
