#include "cli/target_look.h"

#include <filesystem>

#include "base/error.h"
#include "data/preparation_config.h"
#include "data/target_column.h"

namespace stoker::cli {

bool target_looks_like_classes(const SourceConfig& source, const std::string& target,
                               const config::Value* task) {
  const auto* said = task == nullptr ? nullptr : task->get_if<std::string>();
  if (said != nullptr && *said != config::name_of(TaskChoice::automatic))
    return *said != config::name_of(TaskChoice::regression);
  const bool is_file = source.source == SourceKind::file || source.source == SourceKind::csv;
  if (!is_file) return false;
  std::error_code error;
  constexpr std::uintmax_t quickly_read = std::uintmax_t{64} << 20;
  if (std::filesystem::file_size(source.path, error) > quickly_read || error) return false;
  try {
    const auto rows = Source::open(source, std::filesystem::current_path()).first_rows();
    if (!rows || !rows->has_column(target)) return false;
    PreparationConfig config;
    config.target_column = target;
    return learn_target(*rows, config, Scaling::none, no_notes()).task != Task::regression;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace stoker::cli
