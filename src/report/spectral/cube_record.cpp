#include "report/spectral/cube_record.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/json_text.h"
#include "data/cubes/cubes.h"
#include "device/workers.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::size_t most_shown_cubes = 8;
constexpr std::size_t most_lists = 100;  // of selectors, of components

std::vector<double> doubles_in(const RecordPart& part, const char* key) {
  std::vector<double> numbers;
  part.each(key, [&](const json& each, const auto& place) {
    numbers.push_back(RecordPart::number_of(each, place));
  });
  return numbers;
}

void refuse_unequal(const RecordPart& part, const char* key, std::size_t found, std::size_t wanted) {
  if (found != wanted) refuse("{}: {} numbers, not {}", part.place_of(key), found, wanted);
}

// Calls read(part) for each of a list of objects.
template <class Read>
void each_part(const RecordPart& part, const char* key, std::size_t most, const Read& read) {
  if (part.has(key) && part.at(key).size() > most)
    refuse("{}: {} entries, more than the maximum of {}", part.place_of(key), part.at(key).size(), most);
  part.each(key, [&](const json& each, const auto& place) { read(RecordPart(each, place)); });
}

Spectra spectra_from(const RecordPart& part) {
  Spectra spectra;
  spectra.wavelengths = doubles_in(part, "wavelengths");
  each_part(part, "means", most_lists, [&](const RecordPart& each) {
    MeanSpectrum mean{each.text("of"), each.whole("pixels", 0, 0), doubles_in(each, "mean"),
                      doubles_in(each, "deviation")};
    refuse_unequal(each, "deviation", mean.deviation.size(), mean.mean.size());
    if (!spectra.wavelengths.empty())
      refuse_unequal(each, "mean", mean.mean.size(), spectra.wavelengths.size());
    if (!spectra.means.empty()) refuse_unequal(each, "mean", mean.mean.size(), spectra.means[0].mean.size());
    spectra.means.push_back(std::move(mean));
  });
  each_part(part, "chosen", most_lists, [&](const RecordPart& each) {
    ChosenBands chosen{each.text("node"), {}};
    each.each("channels", [&](const json& channel, const auto& place) {
      if (!channel.is_number_unsigned()) refuse("{}: expected a channel", place());
      const auto number = channel.get<std::uint64_t>();
      if (spectra.means.empty() || number >= spectra.means.front().mean.size())
        refuse("{}: there is no channel {}", place(), number);
      chosen.channels.push_back(static_cast<std::int64_t>(number));
    });
    spectra.chosen.push_back(std::move(chosen));
  });
  return spectra;
}

SpectralComponents components_from(const RecordPart& part) {
  SpectralComponents found;
  found.node = part.text("node");
  found.wavelengths = doubles_in(part, "wavelengths");
  found.shares = doubles_in(part, "shares");
  found.count = part.whole("count", 0, 0);
  part.each("weights", [&](const json& row, const auto& place) {
    const json wrapped{{"weights", row}};
    const RecordPart numbers(wrapped, place);
    found.weights.push_back(doubles_in(numbers, "weights"));
    const std::size_t channels =
        found.wavelengths.empty() ? found.weights.front().size() : found.wavelengths.size();
    refuse_unequal(numbers, "weights", found.weights.back().size(), channels);
  });
  if (found.weights.size() > most_lists || found.weights.empty() || found.weights.front().empty())
    refuse("{}: there must be 1 to {} components with weights", part.place_of("weights"), most_lists);
  refuse_unequal(part, "shares", found.shares.size(), found.weights.size());
  return found;
}

PrecisionRecall curve_from(const RecordPart& part) {
  PrecisionRecall curve{doubles_in(part, "recall"), doubles_in(part, "precision"),
                        part.number("average_precision"), part.number("marked_share")};
  refuse_unequal(part, "precision", curve.precision.size(), curve.recall.size());
  return curve;
}

SpectralPixels pixels_of_row(const Table& table, const CubeToShow& shown) {
  const Cubes& cubes = *table.cubes;
  return {cubes.height(),
          cubes.width(),
          cubes.channels(),
          values_of_cube(table, shown.row),
          shown.measured.actual.as<std::uint8_t>(),
          cubes.wavelengths};
}

}  // namespace

CubeRecord cube_record(const CubeFindings& findings, const Table& table) {
  CubeRecord record{findings.cubes, std::vector<CubeView>(findings.shown.size()), {}, {}, findings.curve};
  share_among_cores(std::ssize(findings.shown), [&](std::int64_t i) {
    const CubeToShow& each = findings.shown[static_cast<std::size_t>(i)];
    const MeasuredCube& measured = each.measured;
    const auto found =
        measured.marks.empty() ? std::span<const std::uint8_t>() : measured.marks.as<std::uint8_t>();
    CubeView view = view_of(pixels_of_row(table, each), measured.scores.as<float>(), found, each.name);
    view.reason = each.reason;
    record.shown[static_cast<std::size_t>(i)] = std::move(view);
  });
  // Nobody sees so many channels, and a record has no room for them.
  if (table.cubes->channels() > static_cast<std::int64_t>(RecordPart::longest_list)) return record;
  record.spectra = findings.spectra;
  record.components = findings.components;
  return record;
}

json to_json(const CubeRecord& record) {
  json views = json::array(), means = json::array(), chosen = json::array(), components = json::array();
  for (const CubeView& each : record.shown) views.push_back(to_json(each));
  for (const MeanSpectrum& each : record.spectra.means)
    means.push_back(
        {{"of", each.of}, {"pixels", each.pixels}, {"mean", each.mean}, {"deviation", each.deviation}});
  for (const ChosenBands& each : record.spectra.chosen)
    chosen.push_back({{"node", each.node}, {"channels", each.channels}});
  for (const SpectralComponents& each : record.components)
    components.push_back({{"node", each.node},
                          {"wavelengths", each.wavelengths},
                          {"weights", each.weights},
                          {"shares", each.shares},
                          {"count", each.count}});
  return {{"cubes", record.cubes},
          {"shown", std::move(views)},
          {"spectra",
           {{"wavelengths", record.spectra.wavelengths},
            {"means", std::move(means)},
            {"chosen", std::move(chosen)}}},
          {"components", std::move(components)},
          {"precision_recall",
           {{"recall", record.curve.recall},
            {"precision", record.curve.precision},
            {"average_precision", record.curve.average_precision},
            {"marked_share", record.curve.marked_share}}}};
}

CubeRecord cube_record_from(const RecordPart& part) {
  CubeRecord record;
  record.cubes = part.whole("cubes", 0, 0);
  each_part(part, "shown", most_shown_cubes,
            [&](const RecordPart& each) { record.shown.push_back(cube_view_from(each)); });
  const auto below = [&](const char* key) {
    if (!part.has(key)) refuse("{} is missing", part.place_of(key));
    return RecordPart(part.at(key), [&part, key] { return part.place_of(key); });
  };
  record.spectra = spectra_from(below("spectra"));
  each_part(part, "components", most_lists,
            [&](const RecordPart& each) { record.components.push_back(components_from(each)); });
  record.curve = curve_from(below("precision_recall"));
  return record;
}

CubeRecord cube_record_as_read(json written, const std::filesystem::path& file) {
  std::vector<json> values;
  for (json& view : written["shown"]) values.push_back(std::exchange(view["values"], nullptr));
  json read = json::parse(config::json_text(written));
  for (std::size_t i = 0; i < values.size(); ++i) read["shown"][i]["values"] = std::move(values[i]);
  return cube_record_from(RecordPart(read, [&] { return file.string(); }));
}

}  // namespace stoker
