#include "train/choose/chosen_batches.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/hash.h"
#include "train/choose/choose_batch.h"
#include "train/group/many.h"
#include "train/loop/metric_stopping.h"
#include "train/loop/phases.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_file_bytes = std::size_t{1} << 20;
constexpr std::int64_t most_batch_rows = 1'000'000;

std::map<std::string, std::int64_t> batches_in(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return {};
  std::map<std::string, std::int64_t> batches;
  const auto kept = nlohmann::json::parse(read_file(file, most_file_bytes), nullptr, false);
  bool is_whole = kept.is_object();
  for (const auto& [shape, rows] : kept.items()) {
    is_whole = is_whole && rows.is_number_integer() && rows > 0 && rows <= most_batch_rows;
    if (is_whole) batches[shape] = rows.get<std::int64_t>();
  }
  if (!is_whole)
    refuse("{} does not say which batches were chosen; start a new training, or give batch_size a number",
           file.string());
  return batches;
}

}  // namespace

ChosenBatches::ChosenBatches(const fs::path& folder, bool goes_on) {
  if (folder.empty()) return;
  file_ = folder / "batches.json";
  std::error_code ignored;
  if (goes_on)
    rows_ = batches_in(file_);
  else
    fs::remove(file_, ignored);
}

std::int64_t ChosenBatches::rows_for(const std::string& shape, const std::function<std::int64_t()>& choose) {
  const std::lock_guard lock(mutex_);
  if (const auto found = rows_.find(shape); found != rows_.end()) return found->second;
  const std::int64_t rows = choose();
  rows_[shape] = rows;
  if (!file_.empty()) {
    make_folder(file_.parent_path());
    write_file(file_, nlohmann::json(rows_).dump(1) + "\n");
  }
  return rows;
}

void ChosenBatches::settle(EngineChoice engine, const Notes& notes, EngineRequest& request,
                           TrainingPlan& plan) {
  request.batch_size = batch_sizes_to_try(request.training.rows()).front();
  const std::string shape = sha256_of_text(group_key(request)).substr(0, 16);
  const std::int64_t rows = rows_for(shape, [&] {
    const EngineMaker& maker = choose_engine(engines(), engine, std::nullopt, most_demanding_phase(request));
    return choose_batch(request, making(maker, std::nullopt), notes);
  });
  take_batch(rows, request, plan);
}

}  // namespace stoker
