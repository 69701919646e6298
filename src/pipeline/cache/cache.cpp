#include "pipeline/cache/cache.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/file_missing.h"
#include "base/files/files.h"
#include "base/files/without_sync.h"
#include "base/hash.h"
#include "base/quick_hash.h"
#include "pipeline/card/port_files.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int entry_format = 1;
constexpr std::size_t largest_entry = 1U << 20;
constexpr std::size_t most_bytes_of_notes = largest_entry / 16;  // they grow when they are escaped
const char* const entry_file = "entry.json";

// Files are held to their hashes to find what was damaged, at the speed of memory: whoever would make another
// file of the same hash could write the hash as well.
constexpr std::string_view quick_sign = "xxh64 ";

std::string quick_hash_of_file(const fs::path& file) {
  constexpr std::size_t at_once = std::size_t{1} << 20U;  // part of the hash
  std::string left;
  std::uint64_t hash = 0;
  const auto add = [&](std::string_view bytes) {
    hash = quick_hash(std::as_bytes(std::span(bytes.data(), bytes.size())), hash);
  };
  read_blocks(file, [&](std::string_view block) {
    while (!block.empty()) {
      const std::size_t taken = std::min(at_once - left.size(), block.size());
      if (taken == at_once) {
        add(block.substr(0, taken));
      } else {
        left += block.substr(0, taken);
        if (left.size() == at_once) {
          add(left);
          left.clear();
        }
      }
      block.remove_prefix(taken);
    }
    return true;
  });
  add(left);
  return fmt::format("{}{:016x}", quick_sign, hash);
}

std::vector<std::pair<std::string, fs::path>> files_in(const fs::path& folder) {
  std::vector<std::pair<std::string, fs::path>> files;
  for (const fs::directory_entry& each : fs::recursive_directory_iterator(folder))
    if (each.is_regular_file())
      files.emplace_back(each.path().lexically_relative(folder).string(), each.path());
  return files;
}

json hashes_of_files(const fs::path& folder) {
  json hashes = json::object();
  for (const auto& [name, file] : files_in(folder)) hashes[name] = quick_hash_of_file(file);
  return hashes;
}

// The same files with the same content. Earlier versions listed another hash.
bool are_as_listed(const fs::path& folder, const json& listed) {
  std::size_t found = 0;
  for (const auto& [name, file] : files_in(folder)) {
    if (name == entry_file) continue;
    const auto told = listed.find(name);
    if (told == listed.end() || !told->is_string()) return false;
    const auto& hash = told->get_ref<const std::string&>();
    if (hash != (hash.starts_with(quick_sign) ? quick_hash_of_file(file) : sha256_of_file(file)))
      return false;
    ++found;
  }
  return found == listed.size();
}

json listed_notes(const CardNotes& notes) {
  json listed = json::array();
  std::size_t bytes = 0;
  for (const auto& [severity, message] : notes) {
    bytes += message.size();
    if (bytes > most_bytes_of_notes) break;
    listed.push_back({{"warning", severity == Severity::warning}, {"message", message}});
  }
  return listed;
}

CardNotes notes_in(const json& entry) {
  CardNotes notes;
  if (!entry.contains("notes")) return notes;  // kept by an earlier version
  for (const json& each : entry.at("notes")) {
    notes.emplace_back(each.at("warning").get<bool>() ? Severity::warning : Severity::info,
                       each.at("message").get<std::string>());
  }
  return notes;
}

bool has_every_output(const fs::path& folder, const CardType& type) {
  return std::ranges::all_of(type.outputs,
                             [&](const Port& output) { return fs::exists(folder / port_file_name(output)); });
}

// Throws when a file is missing or cannot be read.
bool holds_what_it_lists(const fs::path& folder, const CardType& type) {
  const json listed = json::parse(read_file(folder / entry_file, largest_entry));
  if (listed.at("format") != entry_format) return false;
  notes_in(listed);
  if (!are_as_listed(folder, listed.at("files"))) return false;
  return has_every_output(folder, type);
}

json identities_of_inputs(const Card& card, const std::vector<std::string>& sources) {
  json inputs = json::object();
  for (std::size_t i = 0; i < card.inputs.size(); ++i) {
    const Connection& connection = card.inputs[i];
    const std::string identity = identity_of_output(sources.at(i), connection);
    if (takes_several(find_port(card.kind->inputs, connection.input)->takes)) {
      inputs[connection.input].push_back(identity);
    } else {
      inputs[connection.input] = identity;
    }
  }
  return inputs;
}

// A file that is gone, cut short or not JSON: all mean the same here.
bool is_whole_entry(const fs::path& folder, const CardType& type) {
  try {
    return holds_what_it_lists(folder, type);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

std::string identity_of_card(const Card& card, const std::vector<std::string>& sources,
                             const std::string& outside) {
  const CardType& type = *card.kind;
  json identifying = config::to_json(card.config);
  if (!outside.empty()) {
    for (const std::string& name : type.file_settings) identifying.erase(name);
    for (const std::string& name : type.address_settings) {
      if (identifying.value(name, json()) != "") identifying.erase(name);
    }
  }
  for (const std::string& name : type.passing_settings) identifying.erase(name);
  // Objects are written with sorted keys, so that equal content gives equal text.
  const json whole{{"type", type.name},
                   {"version", type.version},
                   {"settings", std::move(identifying)},
                   {"inputs", identities_of_inputs(card, sources)},
                   {"outside", outside}};
  return sha256_of_text(whole.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string identity_of_output(const std::string& source, const Connection& connection) {
  return source + "." + connection.output;
}

fs::path Cache::entry(const std::string& identity) const {
  return folder_ / identity.substr(0, 2) / identity;
}

// Somebody who removes the cache may do so between the steps of this.
std::unique_ptr<AtomicFolder> Cache::begin_entry(const fs::path& path) const {
  constexpr int tries = 100;
  for (int attempt = 1;; ++attempt) {
    try {
      make_folder(path.parent_path());
      hold();
      return std::make_unique<AtomicFolder>(path);
    } catch (const Error&) {
      if (attempt == tries) throw;
    }
  }
}

Cache::State Cache::state_of(const std::string& identity, const CardType& type) const {
  const fs::path folder = entry(identity);
  if (!fs::exists(folder_)) return State::absent;
  hold();
  if (!fs::exists(folder)) return State::absent;
  if (is_whole_entry(folder, type)) {
    mark_used(folder);
    return State::whole;
  }
  return fs::exists(folder) ? State::damaged : State::absent;
}

void Cache::keep(const std::string& identity, const CardType& type, const PortValues& outputs,
                 const CardNotes& notes) const {
  const WithoutSync checked_by_its_hashes;
  const fs::path path = entry(identity);
  const std::unique_ptr<AtomicFolder> folder = begin_entry(path);
  try {
    for (const Output& output : type.outputs)
      write_port_value(outputs.at(output.name), output, folder->folder());
    const json listed{{"format", entry_format},
                      {"type", type.name},
                      {"version", type.version},
                      {"notes", listed_notes(notes)},
                      {"files", hashes_of_files(folder->folder())}};
    write_file(folder->folder() / entry_file, listed.dump(2, ' ', false, json::error_handler_t::replace));
    if (!has_every_output(folder->folder(), type)) return;  // somebody removes it, as below
    // Others may be reading one that is there: if it is whole, it is as good.
    if (!folder->commit_if_free(path) && !is_whole_entry(path, type)) folder->commit();
  } catch (const FileMissing&) {  // somebody removes the cache, and this with it
  } catch (const fs::filesystem_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
  }
}

std::optional<KeptOutputs> Cache::load(const std::string& identity, const CardType& type) const {
  try {
    const fs::path folder = entry(identity);
    KeptOutputs kept{{}, notes_in(json::parse(read_file(folder / entry_file, largest_entry)))};
    for (const Output& output : type.outputs)
      kept.values.emplace(output.name, read_port_value(output, folder));
    return kept;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {  // the entry was whole a moment ago: it is being removed
    return std::nullopt;
  }
}

}  // namespace stoker
