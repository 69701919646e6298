#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "config/field.h"
#include "data/confined/confined_reader.h"
#include "data/format/zip.h"
#include "data/source/source.h"
#include "serve/access/request_secrets.h"
#include "serve/api/dataset_words.h"
#include "serve/api/preview_schema.h"
#include "serve/http/body.h"
#include "serve/jobs/program_run.h"
#include "serve/jobs/record_copies.h"
#include "serve/service.h"
#include "store/dataset_store.h"

// Datasets. What reads all rows of one is done by the command that does it on a terminal, in a process of its
// own: the rows take no memory of the service, and a request that takes too long can be ended.
namespace stoker::serve {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr auto longest_work = std::chrono::seconds(300);
constexpr std::uint64_t most_upload_bytes = std::uint64_t{4} << 30;
// Endings that the reader of files tells a format by, packed ones too.
constexpr std::array<std::string_view, 16> endings{"csv",     "tsv",   "txt", "jsonl",   "json", "arff",
                                                   "parquet", "arrow", "npy", "feather", "h5",   "hdf5",
                                                   "sqlite",  "db",    "zip", "npz"};
constexpr std::array<std::string_view, 3> packings{"gz", "zst", "bz2"};
constexpr std::string_view ending_of_cubes = ".cubes";  // of folders that archives were unpacked into

json shown_dataset(const DatasetRecord& record) {
  json columns = json::array();
  for (const auto& [name, type] : record.columns) columns.push_back({{"name", name}, {"type", type}});
  json view{{"id", record.id},
            {"source", with_names(record.name, names_of_file(record))},
            {"kind", config::name_of(record.source.source)},
            {"rows", record.rows},
            {"fingerprint", record.fingerprint},
            {"columns", std::move(columns)},
            {"added", record.added}};
  if (!record.cleaned_of.empty()) view["cleaned_of"] = record.cleaned_of;
  if (record.cubes)
    view["cubes"] = {{"count", record.rows},
                     {"height", record.cubes->height},
                     {"width", record.cubes->width},
                     {"channels", record.cubes->channels}};
  return view;
}

Response list_datasets(Service&, Call& call) {
  constexpr std::int64_t most_datasets_of_a_page = 500;
  const auto limit = static_cast<std::size_t>(call.number("limit", 50, 1, most_datasets_of_a_page));
  const auto offset = static_cast<std::size_t>(call.number("offset", 0, 0, INT32_MAX));
  const auto [all, damaged] = DatasetStore().all();
  json datasets = json::array();
  for (std::size_t i = offset; i < std::min(all.size(), offset + limit); ++i)
    datasets.push_back(shown_dataset(all[i]));
  json answer{{"total", all.size()}, {"datasets", std::move(datasets)}};
  for (const DamagedRecord& each : damaged)
    answer["damaged"].push_back({{"id", each.id}, {"problem", each.problem}});
  return json_response(answer);
}

ProgramRun run_command(Service& service, const Call& call, std::vector<std::string> words,
                       const NamedPaths& names = {}) {
  words.insert(words.begin(), service.config().program.string());
  return run_program(words, service.folder(), longest_work, names, &call);
}

json output_of(const ProgramRun& run) {
  json answer = json::parse(run.output, nullptr, false);
  if (!answer.is_object()) fail("the program answered something else than an object");
  return answer;
}

Response preview_dataset(Service& service, Call& call) {
  const DatasetRecord record = dataset_named(call.part("id"));
  const ProgramRun run = run_command(
      service, call, {"preview", "dataset:" + record.id, "--rows", "100", "--distributions", "--json"},
      names_of_file(record));
  return json_response(output_of(run));
}

// What a person did not choose is a name that nobody has.
std::string id_for(const std::string& asked) {
  const std::string id = asked.empty() ? random_id() : asked;
  refuse_unless_dataset_id(id);
  if (DatasetStore().has(id)) throw Conflict(fmt::format("there is a dataset {} already", id));
  return id;
}

constexpr const char* help_of_faulty =
    "Put it on record although some of its rows cannot be read, to be validated and repaired";

struct NewDataset {
  std::string id;
  SourceConfig source;
  bool faulty = false;
};

config::Fields fields(NewDataset& d) {
  return {config::field("id", d.id, "Of the dataset; made if not given").optional(),
          config::field_of_settings("source", d.source, "As of a data_load card: where the rows come from"),
          config::field("faulty", d.faulty, help_of_faulty)};
}

Response added(const Service& service, const std::string& id) {
  const DatasetRecord record = dataset_named(id);
  copy_dataset(record, service.folder());
  return json_response(shown_dataset(record), 201);
}

Response add_dataset(Service& service, Call& call) {
  const config::Value body = call.body();
  refuse_secrets(body);
  const auto asked = body_as<NewDataset>(body);
  const std::string id = id_for(asked.id);
  const std::string place = place_of_source(asked.source, service.config());
  std::vector<std::string> words{"datasets", "add", id, place};
  const auto flags = flags_of_source(asked.source);
  words.insert(words.end(), flags.begin(), flags.end());
  if (asked.faulty) words.emplace_back("--faulty");
  run_command(service, call, words, {{place, asked.source.path.empty() ? place : asked.source.path}});
  return added(service, id);
}

// "wells.csv.gz" gives ".csv.gz"; refuses what no reader knows.
std::string ending_of(const std::string& name) {
  std::vector<std::string> parts = split_text(lower_case(name), '.');
  std::string ending;
  if (parts.size() > 2 && std::ranges::find(packings, parts.back()) != packings.end()) {
    ending = "." + parts.back();
    parts.pop_back();
  }
  refuse_part_of_cube(name);
  if (parts.size() < 2 || std::ranges::find(endings, parts.back()) == endings.end())
    throw HttpError(
        422,
        fmt::format("name: '{}' does not end as a file of rows or cubes does: {} (text files also with {})",
                    printable(name), join(std::vector<std::string>(endings.begin(), endings.end()), ", "),
                    join(std::vector<std::string>(packings.begin(), packings.end()), ", ")));
  return "." + parts.back() + ending;
}

// The last part of what was sent as a name, at most as long as a name may be.
std::string called_as(const std::string& name) {
  constexpr std::size_t longest = 150;
  const std::string plain = printable(name.substr(name.find_last_of("/\\") + 1));
  return plain.size() <= longest ? plain : plain.substr(plain.size() - longest);
}

// What was received, where it stays, and how the command reads it.
struct KeptUpload {
  fs::path path;
  std::string source;
  std::vector<std::string> flags;
};

// Under a name of its own: none that was sent becomes a path.
KeptUpload keep_file(Service& service, const Call& call, const std::string& ending) {
  const fs::path file = service.folder() / "uploads" / (random_id() + ending);
  fs::rename(call.request.body_file, file);
  KeptUpload kept{file, (call.truth("cubes") ? "cubes:" : "") + file.string(), flags_of_keys(call)};
  for (const char* setting : {"table", "query"})
    if (const std::string given = call.text(setting); !given.empty())
      kept.flags.push_back(fmt::format("--{}={}", setting, given));
  return kept;
}

// Files of cubes that came in one archive, in a folder of their own.
KeptUpload keep_cubes(Service& service, const Call& call, const std::string& shown) {
  const fs::path folder = service.folder() / "uploads" / (random_id() + std::string(ending_of_cubes));
  AtomicFolder made(folder);
  const std::string marks =
      unpack_cubes_confined(call.request.body_file, shown, made.folder(), most_upload_bytes);
  made.commit();
  KeptUpload kept{folder, "cubes:" + folder.string(), flags_of_keys(call)};
  if (!marks.empty()) kept.flags.push_back("--mask-path=" + (folder / marks).string());
  return kept;
}

// `curl --data-binary @wells.csv` sends the file, `curl -F file=@wells.csv` a form with the file in it.
void check_is_plain_upload(const Call& call) {
  constexpr const char* wanted =
      "the body is the file itself and its name is in the address: POST "
      "/api/datasets/upload?name=wells.csv";
  const auto problem = [&](const char* found) {
    return HttpError(400, fmt::format("{}; {}", found, wanted));
  };
  if (lower_case(std::string(call.request.header("content-type"))).starts_with("multipart/"))
    throw problem("the body is a form (multipart/form-data)");
  if (call.text("name").empty()) throw problem("the parameter name is missing or empty");
  if (call.request.body_file.empty()) throw problem("the request has no body");
}

Response upload_dataset(Service& service, Call& call) {
  check_is_plain_upload(call);
  const std::string name = call.text("name");
  const std::string ending = ending_of(name);
  const std::string shown = printable(name);
  const bool is_faulty = call.truth("faulty");
  const std::string id = id_for(call.text("id"));
  const bool is_archive = ending == ".zip" && is_zip(call.request.body_file) &&
                          (call.truth("cubes") || is_cube_archive_confined(call.request.body_file, shown));
  const KeptUpload kept = is_archive ? keep_cubes(service, call, shown) : keep_file(service, call, ending);
  std::vector<std::string> words{"datasets", "add", id, kept.source, "--called=" + called_as(name)};
  words.insert(words.end(), kept.flags.begin(), kept.flags.end());
  if (is_faulty) words.emplace_back("--faulty");
  try {
    run_command(service, call, words, {{kept.path.string(), shown}});
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(kept.path, ignored);
    throw;
  }
  return added(service, id);
}

struct SampleToMake {
  std::string id;
  SampleName sample = SampleName::boston_housing;
  std::optional<std::int64_t> rows;
  std::uint64_t seed = 42;
};

config::Fields fields(SampleToMake& s) {
  return {
      config::field("id", s.id, "Of the dataset; made if not given").optional(),
      config::field("sample", s.sample, "Built-in sample"),
      config::field("rows", s.rows, "Rows of the sample; its usual number if not given").within(1, 1'000'000),
      config::field("seed", s.seed, "Seed of the sample")};
}

Response generate_dataset(Service& service, Call& call) {
  const auto asked = body_as<SampleToMake>(call.body());
  const std::string id = id_for(asked.id);
  make_folder(service.folder() / "datasets");
  const fs::path file = service.folder() / "datasets" / (random_id() + ".sqlite");
  std::vector<std::string> words{"datasets",
                                 "generate",
                                 id,
                                 "--sample",
                                 std::string(config::name_of(asked.sample)),
                                 "--to",
                                 file.string(),
                                 "--seed",
                                 std::to_string(asked.seed),
                                 "--called",
                                 fmt::format("sample:{}", config::name_of(asked.sample))};
  if (asked.rows) words.insert(words.end(), {"--rows", std::to_string(*asked.rows)});
  try {
    run_command(service, call, words);
  } catch (...) {
    std::error_code ignored;
    fs::remove(file, ignored);
    throw;
  }
  return added(service, id);
}

struct Repair {
  std::string as;
  config::Value ranges;  // a map of [lowest, highest]
};

config::Fields fields(Repair& r) {
  return {config::field("as", r.as, "Of a repair: the id of the copy; made if not given").optional(),
          config::field("ranges", r.ranges,
                        "What columns may hold, each [lowest, highest], either of which may be null")};
}

Repair repair_asked(const Call& call) {
  return call.request.body.empty() ? Repair{} : body_as<Repair>(call.body());
}

std::vector<std::string> range_flags(const config::Value& ranges) {
  std::vector<std::string> flags;
  if (ranges.is_null()) return flags;
  const json given = config::to_json(ranges);
  const auto is_bound = [](const json& bound) { return bound.is_null() || bound.is_number(); };
  if (!given.is_object()) refuse("ranges is a map of columns, such as {{\"depth\": [0, 11000]}}");
  for (const auto& [column, range] : given.items()) {
    if (!range.is_array() || range.size() != 2 || !is_bound(range[0]) || !is_bound(range[1]))
      refuse("ranges.{}: a range is [lowest, highest], either of which may be null", printable(column));
    const auto text = [](const json& bound) { return bound.is_null() ? "" : bound.dump(); };
    flags.push_back(fmt::format("--range={}={}:{}", column, text(range[0]), text(range[1])));
  }
  return flags;
}

Response validate_dataset(Service& service, Call& call) {
  const DatasetRecord record = dataset_named(call.part("id"));
  const NamedPaths names = names_of_file(record);
  const Repair asked = repair_asked(call);
  std::vector<std::string> words{"datasets", "validate", record.id, "--json"};
  const auto ranges = range_flags(asked.ranges);
  words.insert(words.end(), ranges.begin(), ranges.end());
  json found = output_of(run_command(service, call, words, names));
  if (found.contains("unreadable"))
    found["unreadable"] = without_options(with_names(found["unreadable"].get<std::string>(), names));
  return json_response(found);
}

Response repair_dataset(Service& service, Call& call) {
  const DatasetRecord record = dataset_named(call.part("id"));
  const Repair asked = repair_asked(call);
  const std::string id = id_for(asked.as.empty() ? call.part("id") + "-repaired" : asked.as);
  make_folder(service.folder() / "datasets");
  const fs::path file = service.folder() / "datasets" / (random_id() + ".arrow");
  std::vector<std::string> words{"datasets", "repair",   call.part("id"), "--as",
                                 id,         "--output", file.string()};
  const auto ranges = range_flags(asked.ranges);
  words.insert(words.end(), ranges.begin(), ranges.end());
  run_command(service, call, words, names_of_file(record));
  return added(service, id);
}

bool names_dataset(const config::Value& value, const std::string& id) {
  if (const auto* map = value.get_if<config::Value::Map>())
    return std::ranges::any_of(*map,
                               [&](const config::Entry& each) { return names_dataset(each.value, id); });
  if (const auto* list = value.get_if<config::Value::List>())
    return std::ranges::any_of(*list, [&](const config::Value& each) { return names_dataset(each, id); });
  const auto* text = value.get_if<std::string>();
  return text != nullptr && *text == id;
}

void refuse_in_use(Service& service, const std::string& id) {
  JobFilter filter;
  filter.states = {JobState::pending, JobState::queued, JobState::running, JobState::paused};
  filter.dataset = id;
  filter.limit = 1'000;
  for (const JobRecord& line : service.jobs().list(filter)) {
    const auto job = service.jobs().find(line.id);  // a line of a list goes without the document
    if (job && names_dataset(config::parse_document(job->document, "document"), id))
      throw Conflict(fmt::format("job {} reads dataset {} and is {}; cancel it or wait for its end", job->id,
                                 id, config::name_of(job->state)));
  }
}

// The file of a dataset, where it is the service's own and nobody else's.
std::uint64_t remove_own_file(Service& service, const DatasetRecord& record) {
  const fs::path file = record.source.path;
  std::error_code none;
  const fs::path folder = fs::weakly_canonical(file, none).parent_path();
  const fs::path data = fs::weakly_canonical(service.folder(), none);
  if (file.empty() || none || (folder != data / "uploads" && folder != data / "datasets")) return 0;
  for (const DatasetRecord& other : DatasetStore().all().records)
    if (other.source.path == record.source.path) return 0;
  if (fs::is_directory(file, none)) {
    // Folders that the operator has put there are not the service's own.
    constexpr std::size_t length_of_id = 36;
    const std::string name = file.filename().string();
    if (name.size() != length_of_id + ending_of_cubes.size() || !name.ends_with(ending_of_cubes)) return 0;
    const std::uint64_t freed = folder_bytes(file);
    remove_folder(file, none);
    return none ? 0 : freed;
  }
  const std::uintmax_t bytes = fs::file_size(file, none);
  const bool is_removed = !none && fs::remove(file, none);
  return is_removed ? bytes : 0;
}

Response remove_dataset(Service& service, Call& call) {
  const DatasetRecord record = dataset_named(call.part("id"));
  refuse_in_use(service, record.id);
  DatasetStore().remove(record.id);
  remove_copy_of_dataset(record.id, service.folder());
  const std::uint64_t freed = remove_own_file(service, record);
  return json_response({{"id", record.id}, {"freed_bytes", freed}, {"freed", human_bytes(freed)}});
}

template <class Body>
json schema_of() {
  Body usual;
  return config::json_schema(fields(usual));
}

}  // namespace

std::vector<Route> dataset_routes(Service& service) {
  const Answer none{404, "There is none"};
  const Answer wrong{422, "What is wrong with it"};
  std::vector<Route> routes;
  const auto add = [&](const std::string& method, const std::string& path, const std::string& name,
                       const std::string& help, Response (*answer)(Service&, Call&)) -> Route& {
    routes.push_back({method, "/api/datasets" + path, name, help,
                      method == "GET" ? Access::viewer : Access::user,
                      [&service, answer](Call& call) { return answer(service, call); }});
    return routes.back();
  };
  Route& list = add("GET", "", "listDatasets", "List datasets by their ids", list_datasets);
  list.parameters = {
      {"limit", "At most so many", {{"type", "integer"}, {"minimum", 1}, {"maximum", 500}}},
      {"offset", "Pass over so many", {{"type", "integer"}, {"minimum", 0}, {"maximum", INT32_MAX}}}};
  list.answers = {{200, "Datasets"}, {400, "A parameter is wrong"}};
  Route& create = add("POST", "", "addDataset", "Put rows on record that are there already", add_dataset);
  create.body = schema_of<NewDataset>();
  create.answers = {{201, "The dataset"}, {409, "The id is taken"}, wrong};
  Route& upload = add("POST", "/upload", "uploadDataset",
                      "Send a file of rows or cubes, or an archive of files of cubes, and put it on record",
                      upload_dataset);
  upload.parameters = {
      {"name", "Of the file, whose ending tells its format"},
      {"id", "Of the dataset; made if not given"},
      {"faulty", help_of_faulty, {{"type", "boolean"}}},
      {"cubes", "The file holds cubes, where it might as well hold rows", {{"type", "boolean"}}},
      {"cube_key", "Of cubes in npz and HDF5: the array that holds them"},
      {"mask_key", "Of cubes in npz and HDF5: the array that holds their masks"},
      {"table", "Table or view of an SQLite file to read; needed if the file has several"},
      {"query", "SELECT whose rows are read from an SQLite file, instead of a table"}};
  upload.body = json{{"type", "string"}, {"format", "binary"}};
  upload.body_types = {"*/*"};
  upload.is_upload = true;
  upload.most_body = most_upload_bytes;
  upload.answers = {
      {201, "The dataset"}, {400, "A parameter is missing or wrong"}, {409, "The id is taken"}, wrong};
  Route& generate = add("POST", "/generate", "generateDataset", "Make a built-in sample and put it on record",
                        generate_dataset);
  generate.body = schema_of<SampleToMake>();
  generate.answers = {{201, "The dataset"}, {409, "The id is taken"}, wrong};
  add("GET", "/{id}", "showDataset", "Show a dataset with its columns", [](Service&, Call& call) {
    return json_response(shown_dataset(dataset_named(call.part("id"))));
  }).answers = {{200, "The dataset"}, none};
  add("GET", "/{id}/preview", "previewDataset",
      "Its first rows, and of each column the type, what is missing and how its values are distributed",
      preview_dataset)
      .answers = {{200, "The preview", schema::preview()}, none, wrong};
  Route& validate =
      add("POST", "/{id}/validate", "validateDataset", "Look for faults in its rows", validate_dataset);
  validate.access = Access::viewer;
  validate.body = schema_of<Repair>();
  validate.answers = {{200, "What was found"}, none, wrong};
  Route& repair = add("POST", "/{id}/repair", "repairDataset",
                      "Make a copy without the rows that have faults", repair_dataset);
  repair.body = schema_of<Repair>();
  repair.answers = {{201, "The copy"}, none, {409, "The id is taken"}, wrong};
  add("DELETE", "/{id}", "deleteDataset",
      "Take a dataset off the record, and remove its file where it was uploaded", remove_dataset)
      .answers = {{200, "What was freed"}, none, {409, "A job that has not ended reads it"}};
  return routes;
}

}  // namespace stoker::serve
