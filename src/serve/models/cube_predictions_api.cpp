#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/claim.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "data/confined/confined_reader.h"
#include "data/cubes/cubes_files.h"
#include "data/format/npy_header.h"
#include "data/format/write_zip.h"
#include "data/format/zip.h"
#include "serve/api/dataset_words.h"
#include "serve/http/schema.h"
#include "serve/jobs/program_run.h"
#include "serve/service.h"

// Predictions of the pixels of cubes, by `stoker predict` in a process of its own. Nothing of a request
// stays: what it brought and what was made of it lies in one folder, which goes once the answer is sent.
namespace stoker::serve {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t most_bytes_of_cubes = std::uint64_t{1} << 30;  // unpacked too
constexpr auto longest_scoring = std::chrono::seconds(300);
constexpr const char* array_type = "application/x-npy";
constexpr const char* archive_type = "application/zip";

enum class AnswerForm { summary, archive, array };

AnswerForm form_asked(const Request& request) {
  const std::string accepted = lower_case(request.header("accept"));
  if (accepted.find(archive_type) != std::string::npos) return AnswerForm::archive;
  if (accepted.find(array_type) != std::string::npos) return AnswerForm::array;
  return AnswerForm::summary;
}

// "scores" or "marks", as the program calls them.
std::string output_asked(const Call& call) {
  const std::string output = call.text("output", "scores");
  if (output != "scores" && output != "marks") throw HttpError(400, "output is scores or marks");
  return output;
}

// Cubes that are to be scored, as the program reads them.
struct CubesAsked {
  std::string source;
  std::vector<std::string> flags;
  NamedPaths names;
};

// What was sent as a name, as that of a file in a folder where nothing else is: cubes are called by it.
std::string file_name_of(const std::string& sent) {
  constexpr std::size_t longest = 100;
  std::string name = sent.substr(sent.find_last_of("/\\") + 1);
  for (char& each : name)
    if (std::isalnum(static_cast<unsigned char>(each)) == 0 && each != '-' && each != '.') each = '_';
  if (name.size() > longest) name.erase(0, name.size() - longest);
  if (name.empty() || name.front() == '.') name.insert(0, "_");
  return name;
}

std::string first_bytes(const fs::path& file) {
  std::array<char, 8> bytes{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<std::size_t>(stream.gcount())};
}

// By what it begins with; its name says the rest.
void refuse_unless_cubes(const std::string& start, const std::string& name) {
  refuse_part_of_cube(name);
  const bool is_known = start.starts_with("\x93NUMPY") || start.starts_with("\x89HDF") ||
                        start.starts_with("PK\x03\x04") || start.starts_with("PK\x05\x06");
  if (is_known) return;
  throw HttpError(422, start.starts_with("ENVI")
                           ? "the body is the header of a cube in ENVI form: send it and its numbers "
                             "together in one zip archive"
                           : "the body is no file of cubes: it takes npy, npz, HDF5, and zip archives of "
                             "these or of ENVI headers (.hdr) with their numbers");
}

CubesAsked received_cubes(const Call& call, const fs::path& folder) {
  const fs::path& body = call.request.body_file;
  const std::string name = call.text("name", "cube");
  const std::string shown = printable(name);
  refuse_unless_cubes(first_bytes(body), name);
  const bool is_called_npz = lower_case(name).ends_with(".npz");
  const bool is_called_zip = lower_case(name).ends_with(".zip");
  const fs::path place = folder / "sent";
  make_folder(place);
  CubesAsked cubes{"", flags_of_keys(call), {}};
  if (is_zip(body) && !is_called_npz && (is_called_zip || !has_arrays_alone_confined(body, shown))) {
    unpack_cubes_confined(body, shown, place, most_bytes_of_cubes);
    cubes.source = place.string();
  } else {
    cubes.source = (place / file_name_of(name)).string();
    fs::rename(body, cubes.source);
  }
  cubes.names = {{cubes.source, shown}};
  cubes.source.insert(0, "cubes:");
  return cubes;
}

CubesAsked recorded_cubes(const std::string& id) {
  const DatasetRecord record = dataset_named(id);
  if (!record.cubes)
    throw HttpError(422, fmt::format("dataset {} has rows, but the model scores the pixels of cubes", id));
  return {"dataset:" + id, {}, names_of_file(record)};
}

CubesAsked cubes_asked(const Call& call, const fs::path& folder) {
  const std::string dataset = call.text("dataset");
  std::error_code none;
  const fs::path& body = call.request.body_file;
  const bool has_body = !body.empty() && fs::file_size(body, none) > 0 && !none;
  if (has_body && !dataset.empty())
    throw HttpError(400, "dataset names cubes on record, and the body brings others; give one of the two");
  if (!has_body && dataset.empty())
    throw HttpError(400, "there are no cubes: the body takes a file of them, or dataset names one on record");
  return has_body ? received_cubes(call, folder) : recorded_cubes(dataset);
}

// Scores or marks of all cubes, one behind the other: they are of one size.
void write_stacked(const json& summary, const std::string& output, const fs::path& folder,
                   const fs::path& path) {
  const json& cubes = summary.at("cubes");
  if (!cubes.at(0).contains(output))
    throw HttpError(422,
                    "the model decides nothing and its scores are no logits, so that there are no marks");
  const Shape shape{static_cast<std::int64_t>(cubes.size()), cubes.at(0).at("height").get<std::int64_t>(),
                    cubes.at(0).at("width").get<std::int64_t>()};
  AtomicFile file(path);
  file.write(npy_start(output == "marks" ? DType::uint8 : DType::float32, shape));
  for (const json& each : cubes) {
    const fs::path one = folder / each.at(output).get<std::string>();
    std::ifstream stream(one, std::ios::binary);
    auto to_skip = static_cast<std::size_t>(read_npy_header(stream, one.filename().string()).begin);
    read_blocks(one, [&](std::string_view block) {
      const std::size_t skipped = std::min(to_skip, block.size());
      to_skip -= skipped;
      file.write(block.substr(skipped));
      return true;
    });
  }
  file.commit();
}

void write_archive(const json& summary, const fs::path& folder, const fs::path& path) {
  write_file(folder / "summary.json", summary.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  std::vector<FileToPack> files{{"summary.json", folder / "summary.json"}};
  for (const json& each : summary.at("cubes"))
    for (const char* output : {"scores", "marks"})
      if (each.contains(output)) files.push_back({each.at(output), folder / each.at(output)});
  write_zip(files, path);
}

json summary_of(const ProgramRun& run, const CubesAsked& cubes, const Call& call, const ServedModel& served) {
  json summary = json::parse(run.output, nullptr, false);
  if (!summary.is_object() || !summary["cubes"].is_array() || summary["cubes"].empty())
    fail("stoker predict answered something else than scores of cubes");
  summary.erase("output");
  for (const std::string& note : notes_of(run, cubes.names)) summary["notes"].push_back(note);
  if (call.part("name") != served.record.id) summary["deployment"] = call.part("name");
  summary["model"] = served.record.id;
  return summary;
}

Response predict_cubes(Service& service, Call& call) {
  const auto served = service.served().find(call.part("name"));
  if (!served->reads_cubes)
    throw HttpError(422, fmt::format("the model predicts rows: send them to POST /api/models/{}/predict",
                                     printable(call.part("name"))));
  const AnswerForm form = form_asked(call.request);
  const std::string output = output_asked(call);
  const fs::path uploads = service.folder() / "uploads";
  const auto place = std::make_shared<const Claim>(Claim::Kind::folder, uploads / receiving, 0700, uploads);
  CubesAsked cubes = cubes_asked(call, place->path());
  cubes.names.emplace_back(served->record.folder, "the model");
  const fs::path folder = place->path() / "scores";
  std::vector<std::string> words{service.config().program.string(), "predict", served->record.folder,
                                 cubes.source, "--json"};
  words.insert(words.end(), cubes.flags.begin(), cubes.flags.end());
  if (form != AnswerForm::summary) words.push_back("--out=" + folder.string());
  const ProgramRun run = run_program(words, service.folder(), longest_scoring, cubes.names, &call);
  const json summary = summary_of(run, cubes, call, *served);
  if (form == AnswerForm::summary) return json_response(summary);
  const bool is_array = form == AnswerForm::array;
  Response response;
  response.file = place->path() / "answer";
  response.file_keeper = place;
  response.type = is_array ? array_type : archive_type;
  response.headers.emplace_back(
      "Content-Disposition",
      fmt::format("attachment; filename=\"{}\"", is_array ? output + ".npy" : "scores.zip"));
  is_array ? write_stacked(summary, output, folder, response.file)
           : write_archive(summary, folder, response.file);
  return response;
}

}  // namespace

std::vector<Route> cube_prediction_routes(Service& service) {
  Route predict{
      "POST",
      "/api/models/{name}/predict/cubes",
      "predictCubes",
      "Score the pixels of cubes with the model that is deployed under a name, or that has this id; Accept "
      "asks for an archive of all scores and marks (application/zip) or for one array of all cubes "
      "(application/x-npy)",
      Access::viewer,
      [&service](Call& call) { return predict_cubes(service, call); }};
  predict.parameters = {{"name", "Of the file, by which its cubes are called"},
                        {"dataset", "Id of cubes on record, in place of a body"},
                        {"cube_key", "Of npz and HDF5: the array that holds the cubes"},
                        {"mask_key", "Of npz and HDF5: the array that holds masks, which are not looked at"},
                        {"output",
                         fmt::format("What an answer as {} holds", array_type),
                         {{"type", "string"}, {"enum", {"scores", "marks"}}, {"default", "scores"}}}};
  const json bytes{{"type", "string"}, {"format", "binary"}};
  predict.body = bytes;
  predict.body_types = {"application/octet-stream", array_type, archive_type, "application/x-hdf5"};
  predict.is_upload = true;
  predict.most_body = most_bytes_of_cubes;
  const std::string help = "The summary of every cube, or its scores and marks";
  predict.answers = {
      {200, help},
      {200, help, bytes, archive_type},
      {200, help, bytes, array_type},
      {400, "A parameter is wrong, or there are no cubes"},
      {404, "No model is deployed under this name or has this id, or there is no such dataset"},
      {422, "What is wrong with the cubes"}};
  predict.changes_nothing = true;
  return {std::move(predict)};
}

}  // namespace stoker::serve
