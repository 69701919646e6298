#include "cli/table_look.h"

#include <filesystem>

#include "base/error.h"
#include "data/preparation.h"
#include "data/standard_input.h"

namespace stoker::cli {
namespace {

bool is_quickly_read(const SourceConfig& source) {
  constexpr std::uintmax_t quickly_read = std::uintmax_t{64} << 20;
  constexpr std::int64_t quickly_made = 1'000'000;
  if (source.source == SourceKind::sample) return source.sample_rows.value_or(0) <= quickly_made;
  if (source.source == SourceKind::url) return false;
  if (source.path == standard_input_path) return true;
  std::error_code error;
  return std::filesystem::file_size(source.path, error) <= quickly_read && !error;
}

PreparationConfig preparation_from(const config::Value& settings, const std::string& target) {
  PreparationConfig preparation;
  config::Value own;
  for (const config::Field& field : fields(preparation))
    if (const config::Value* given = settings.find(field.name)) own.set(field.name, *given);
  own.set("target_column", target);
  config::Diagnostics diagnostics("");
  preparation = config::read<PreparationConfig>(own, "", diagnostics);
  diagnostics.refuse_if_any();
  return preparation;
}

}  // namespace

std::optional<TableShape> look_at_table(const SourceConfig& source, const std::string& target,
                                        const config::Value& settings) {
  if (!is_quickly_read(source)) return std::nullopt;
  try {
    const Table table = Source::open(source, std::filesystem::current_path()).read();
    const Preparation preparation =
        Preparation::fit(table, preparation_from(settings, target), InputForm(Scaling::none), no_notes());
    TableShape shape{.rows = table.rows(), .has_classes = preparation.task() != Task::regression};
    for (const PreparedColumn& column : preparation.columns())
      (column.kind == PreparedColumn::Kind::number ? shape.numbers : shape.others) += column.width();
    return shape;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace stoker::cli
