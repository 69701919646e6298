#include "train/checkpoint/checkpoints.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/file_missing.h"
#include "base/files/files.h"
#include "base/files/without_sync.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "model/safetensors.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int format_version = 1;
constexpr std::size_t most_state_bytes = std::size_t{512}
                                         << 20;  // of state.json: a million epochs are 250 MB
constexpr std::array files{"model.safetensors", "optimizer.safetensors", "state.json"};
constexpr const char* score_file = "score.json";  // beside them, where there is one
constexpr std::size_t most_score_bytes = 4096;
constexpr std::string_view prefix = "step-";
constexpr std::string_view parameter_prefix = "parameters.";  // in an engine's state

struct Found {
  std::int64_t step = 0;
  fs::path folder;
};

std::string folder_name(std::int64_t step) {
  return fmt::format("{}{:09}", prefix, step);
}

std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, step);
  if (error != std::errc() || rest != end || step < 0) return std::nullopt;
  return step;
}

// Newest first; only those with DONE.
std::vector<Found> whole_checkpoints(const fs::path& folder) {
  std::vector<Found> found;
  std::error_code error;
  const fs::directory_iterator entries(folder, error);
  if (error && error != std::errc::no_such_file_or_directory) refuse_read(folder, error.value());
  for (const fs::directory_entry& entry : entries) {
    const std::optional<std::int64_t> step = step_of(entry.path().filename().string());
    if (step && fs::is_regular_file(entry.path() / "DONE", error)) found.push_back({*step, entry.path()});
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.step > b.step; });
  return found;
}

// DONE goes first, so that a checkpoint that is half removed does not exist any more.
void remove_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  fs::remove(folder / "DONE", ignored);
  fs::remove_all(folder, ignored);
}

// What a killed process left behind under temporary names.
void remove_partial(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> partial;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && name.find(".partial-") != std::string::npos)
      partial.push_back(entry.path());
  }
  for (const fs::path& path : partial) remove_checkpoint(path);
}

std::string done_text(const fs::path& folder) {
  std::string text;
  for (const char* name : files) text += fmt::format("{}  {}\n", sha256_of_file(folder / name), name);
  if (fs::exists(folder / score_file))
    text += fmt::format("{}  {}\n", sha256_of_file(folder / score_file), score_file);
  return text;
}

json identity_json(const Identity& identity) {
  json result = json::object();
  for (const auto& [name, value] : identity) result[name] = value;
  return result;
}

json score_json(const EpochScore& score) {
  return {{"epoch", score.epoch + 1},
          {"metric", score.metric},
          {"value", number_to_json(score.value)},
          {"higher_is_better", score.higher_is_better}};
}

// None where there is none that could be read: then it is not one of the best.
std::optional<EpochScore> score_in(const fs::path& folder) {
  if (!fs::exists(folder / score_file)) return std::nullopt;
  try {
    const json score = json::parse(read_file(folder / score_file, most_score_bytes));
    return EpochScore{score.at("epoch").get<std::int64_t>() - 1, score.at("metric").get<std::string>(),
                      number_from_json(score.at("value")), score.at("higher_is_better").get<bool>()};
  } catch (const json::exception&) {
    return std::nullopt;
  } catch (const Error& error) {
    if (error.cause() == Cause::machine) throw;
    return std::nullopt;
  }
}

struct Loaded {
  Checkpoint checkpoint;
  json identity;
};

Loaded load(const fs::path& folder) {
  if (read_file(folder / "DONE", 4096) != done_text(folder))
    refuse("a file was changed after it was written");
  const json state = json::parse(read_file(folder / "state.json", most_state_bytes));
  const int version = state.at("version").get<int>();
  if (version != format_version)
    refuse("its format is version {}, but this program reads version {}", version, format_version);
  for (const json& value : state.at("training"))
    if (!value.is_string()) refuse("state.json does not say which training it belongs to");
  Loaded loaded{{state.at("engine").get<std::string>(), Progress::from_json(state.at("progress")), {}},
                state.at("training")};
  for (NamedArray& array : read_safetensors(folder / "model.safetensors")) {
    array.name.insert(0, parameter_prefix);
    loaded.checkpoint.state.push_back(std::move(array));
  }
  for (NamedArray& array : read_safetensors(folder / "optimizer.safetensors"))
    loaded.checkpoint.state.push_back(std::move(array));
  return loaded;
}

// A hash says nothing to people.
std::string difference_in_words(const std::string& name, const std::string& there, const std::string& here) {
  for (const char* rows : {"training", "validation"})
    if (name == fmt::format("all_{}_rows", rows))
      return fmt::format("the {} rows have other values than they had there", rows);
  return fmt::format("{} is {} there and {} here", name, there, here);
}

void refuse_foreign(const fs::path& folder, const json& saved, const Identity& identity) {
  std::vector<std::string> differences;
  std::string missing;
  for (const auto& [name, value] : identity) {
    if (!saved.contains(name)) {
      if (missing.empty() && name != model_of_identity) missing = name;
      continue;
    }
    const auto& other = saved.at(name).get_ref<const std::string&>();
    if (other != value) differences.push_back(difference_in_words(name, other, value));
  }
  // What is in use there alone.
  for (const auto& [name, value] : saved.items()) {
    const auto is_it = [&name = name](const auto& each) { return each.first == name; };
    if (std::none_of(identity.begin(), identity.end(), is_it))
      differences.push_back(
          fmt::format("{} is {} there and not set here", name, value.get_ref<const std::string&>()));
  }
  if (!differences.empty())
    throw ForeignCheckpoint(
        fmt::format("the checkpoint {} belongs to another training: {}; start a new training, or resume with "
                    "the model, settings and data that it was made with",
                    folder.string(), join(differences, "; ")));
  if (!missing.empty())
    throw ForeignCheckpoint(
        fmt::format("the checkpoint {} was written by another version of Stoker, which did not record {} "
                    "to compare; start a new training, or resume with the version that wrote it",
                    folder.string(), missing));
}

// model.safetensors holds the parameters under the names that the model knows them by.
struct SplitState {
  NamedArrays parameters;
  NamedArrays rest;
};
SplitState split(NamedArrays state) {
  SplitState result;
  for (NamedArray& each : state) {
    const bool is_parameter = each.name.starts_with(parameter_prefix);
    if (is_parameter) each.name.erase(0, parameter_prefix.size());
    (is_parameter ? result.parameters : result.rest).push_back(std::move(each));
  }
  return result;
}

// In a folder that nobody sees yet and that is synced as a whole: a sync of each file would take twice as
// long.
void write_checkpoint(const fs::path& folder, const Checkpoint& checkpoint, const Identity& identity,
                      const std::string& device) {
  const WithoutSync until_all_are_there;
  const SplitState arrays = split(checkpoint.state);
  write_safetensors(folder / "model.safetensors", arrays.parameters);
  write_safetensors(folder / "optimizer.safetensors", arrays.rest);
  json state{{"format", "stoker checkpoint"},
             {"version", format_version},
             {"engine", checkpoint.engine},
             {"training", identity_json(identity)},
             {"progress", checkpoint.progress.to_json()}};
  if (!device.empty()) state["device"] = device;
  write_file(folder / "state.json", state.dump(1) + "\n");
  if (checkpoint.score) write_file(folder / score_file, score_json(*checkpoint.score).dump(1) + "\n");
  write_file(folder / "DONE", done_text(folder));
}

}  // namespace

NamedArrays parameters_in(const NamedArrays& state) {
  NamedArrays parameters;
  for (const NamedArray& each : state)
    if (each.name.starts_with(parameter_prefix)) parameters.push_back(each);
  return parameters;
}

Checkpoints::Checkpoints(fs::path folder, Identity identity, Notes notes, CheckpointsToKeep keep)
    : folder_(std::move(folder)), identity_(std::move(identity)), notes_(std::move(notes)), keep_(keep) {}

std::optional<Checkpoint> Checkpoints::newest() {
  if (!kept()) return std::nullopt;
  for (const Found& found : whole_checkpoints(folder_)) {
    std::optional<Loaded> loaded;
    try {
      loaded = load(found.folder);
    } catch (const Error& error) {
      // What the machine cannot read now it may read another time; an earlier one would be the end of it.
      const bool is_missing = dynamic_cast<const FileMissing*>(&error) != nullptr;
      if (error.cause() == Cause::machine && !is_missing) throw;
      notes_(Severity::warning, fmt::format("the checkpoint {} is damaged and was skipped: {}",
                                            found.folder.string(), error.what()));
      continue;
    } catch (const json::exception& error) {
      notes_(Severity::warning, fmt::format("the checkpoint {} is damaged and was skipped: {}",
                                            found.folder.string(), error.what()));
      continue;
    }
    refuse_foreign(found.folder, loaded->identity, identity_);
    saved_step_ = found.step;
    return std::move(loaded->checkpoint);
  }
  return std::nullopt;
}

// A damaged one, which is passed over when it is to be gone on from, says nothing here either.
std::string device_of_newest(const fs::path& folder) {
  if (folder.empty()) return "";
  for (const Found& found : whole_checkpoints(folder)) {
    const json state = [&] {
      try {
        return json::parse(read_file(found.folder / "state.json", most_state_bytes), nullptr, false);
      } catch (const Error&) {
        return json();
      }
    }();
    if (state.is_object()) return state.value("device", json()).is_string() ? state["device"] : "";
  }
  return "";
}

void Checkpoints::clear() {
  if (!kept()) return;
  for (const Found& found : whole_checkpoints(folder_)) remove_checkpoint(found.folder);
  remove_partial(folder_);
  saved_step_.reset();
}

std::string told_of_failed_write(const Error& error) {
  return fmt::format(
      "a checkpoint could not be written: {}; the training goes on, and the next one will be tried",
      error.what());
}

std::vector<EpochScore> Checkpoints::scores() const {
  std::vector<EpochScore> scores;
  if (!kept()) return scores;
  for (const Found& found : whole_checkpoints(folder_))
    if (const std::optional<EpochScore> score = score_in(found.folder)) scores.push_back(*score);
  return scores;
}

void Checkpoints::save(const Engine& engine, const Progress& progress) {
  if (is_saved(progress.next_step)) return;
  write({std::string(engine.name()), progress, engine.state()});
}

void Checkpoints::write(const Checkpoint& checkpoint) {
  const std::int64_t step = checkpoint.progress.next_step;
  if (is_saved(step)) return;
  make_folder(folder_);
  remove_partial(folder_);
  AtomicFolder target(folder_ / folder_name(step));
  write_checkpoint(target.folder(), checkpoint, identity_, device_);
  target.commit();
  saved_step_ = step;
  remove_old(step);
}

// Later steps are those of damaged checkpoints that a resumed run went back behind.
void Checkpoints::remove_old(std::int64_t newest_step) const {
  std::vector<Found> candidates = whole_checkpoints(folder_);
  std::erase_if(candidates, [&](const Found& found) {
    if (found.step > newest_step) remove_checkpoint(found.folder);
    return found.step > newest_step;
  });
  std::vector<std::optional<EpochScore>> scores(candidates.size());
  BestEpochs best(keep_.best);
  for (std::size_t i = candidates.size(); i-- > 0 && keep_.best > 0;) {
    scores[i] = score_in(candidates[i].folder);
    if (scores[i]) best.admit(*scores[i]);
  }
  for (std::size_t i = static_cast<std::size_t>(keep_.last); i < candidates.size(); ++i)
    if (!scores[i] || !best.holds(scores[i]->epoch)) remove_checkpoint(candidates[i].folder);
}

}  // namespace stoker
