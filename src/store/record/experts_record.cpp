#include "store/record/experts_record.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace stoker {
namespace {

using nlohmann::json;

constexpr double largest_number = 1e18;

// Four digits are more than anybody sees, and a third of what all of them would take.
json four_digits(double value) {
  return std::isfinite(value) ? json(std::round(value * 1e4) / 1e4) : json();
}

json moment_json(const ExpertsRecord::Moment& moment) {
  json nodes = json::array();
  for (const ExpertsRecord::Node& each : moment.nodes) {
    json classes = json::array();
    for (const double share : each.classes) classes.push_back(four_digits(share));
    nodes.push_back({{"number", each.number},
                     {"parent", each.parent},
                     {"rows", each.rows},
                     {"activations", each.activations},
                     {"specialisation", four_digits(each.specialisation)},
                     {"adaptation_rate", four_digits(each.adaptation_rate)},
                     {"classes", std::move(classes)}});
  }
  json edges = json::array();
  for (const ExpertsRecord::Edge& each : moment.edges)
    edges.push_back({{"from", each.from},
                     {"to", each.to},
                     {"tie", config::name_of(each.tie)},
                     {"weight", four_digits(each.weight)}});
  return {{"step", moment.step},
          {"epoch", moment.epoch},
          {"hesitation", four_digits(moment.hesitation)},
          {"nodes", std::move(nodes)},
          {"edges", std::move(edges)}};
}

double sane_number(const RecordPart& part, const char* key, double lowest) {
  const double value = part.number(key);
  if (!(value >= lowest && value <= largest_number))
    refuse("{}: {} is out of range", part.place_of(key), value);
  return value;
}

ExpertTie tie_in(const RecordPart& part) {
  const std::string name = part.text("tie");
  const auto& names = config::names<ExpertTie>;
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) refuse("{}: experts are not tied by '{}'", part.place_of("tie"), name);
  return static_cast<ExpertTie>(found - names.begin());
}

ExpertsRecord::Node node_in(const RecordPart& part, std::size_t classes) {
  ExpertsRecord::Node node;
  node.number = part.whole("number", 0, 0);
  node.parent = part.whole("parent", -1, -1);
  node.rows = sane_number(part, "rows", 0);
  node.activations = sane_number(part, "activations", 0);
  node.specialisation = std::min(sane_number(part, "specialisation", 0), 1.0);
  node.adaptation_rate = sane_number(part, "adaptation_rate", 0);
  part.each("classes", [&](const json& value, const RecordPart::Place& place) {
    const double share = RecordPart::number_of(value, place);
    if (!(share >= 0 && share <= 1.001)) refuse("{}: {} is not a share", place(), share);
    node.classes.push_back(share);
  });
  if (!node.classes.empty() && node.classes.size() != classes)
    refuse("{}: {} shares for {} classes", part.place_of("classes"), node.classes.size(), classes);
  return node;
}

bool has_expert(const ExpertsRecord::Moment& moment, std::int64_t number) {
  return std::ranges::binary_search(moment.nodes, number, {}, &ExpertsRecord::Node::number);
}

ExpertsRecord::Moment moment_in(const RecordPart& part, const ExpertsRecord& record) {
  ExpertsRecord::Moment moment;
  moment.step = part.whole("step", 0, 0);
  moment.epoch = record.epoch_of(moment.step);
  moment.hesitation = part.has("hesitation") ? sane_number(part, "hesitation", 0) : part.number("hesitation");
  part.each("nodes", [&](const json& value, const RecordPart::Place& place) {
    moment.nodes.push_back(node_in(RecordPart(value, place), record.classes.size()));
    const auto last = moment.nodes.rbegin();
    if (moment.nodes.size() > 1 && last->number <= (last + 1)->number)
      refuse("{}: the experts are not in the order of their numbers", place());
  });
  part.each("edges", [&](const json& value, const RecordPart::Place& place) {
    const RecordPart edge(value, place);
    moment.edges.push_back(
        {edge.whole("from", 0, -1), edge.whole("to", 0, -1), tie_in(edge), sane_number(edge, "weight", -1)});
    const ExpertsRecord::Edge& added = moment.edges.back();
    if (added.from == added.to || !has_expert(moment, added.from) || !has_expert(moment, added.to))
      refuse("{}: ties experts that are not there", place());
  });
  return moment;
}

}  // namespace

json to_json(const ExpertsRecord& record) {
  json events = json::array();
  for (const ExpertsRecord::Event& each : record.events)
    events.push_back({{"step", each.step}, {"kind", each.kind}, {"text", each.text}});
  const auto listed = [](const std::vector<ExpertsRecord::Moment>& all) {
    json list = json::array();
    for (const ExpertsRecord::Moment& each : all) list.push_back(moment_json(each));
    return list;
  };
  return {{"device", record.device},
          {"steps", record.steps},
          {"steps_per_epoch", record.steps_per_epoch},
          {"top_k", record.top_k},
          {"room", record.room},
          {"parameters", record.parameters},
          {"active_parameters", record.active_parameters},
          {"classes", record.classes},
          {"events", std::move(events)},
          {"moments", listed(record.moments)},
          {"epochs", listed(record.epochs)},
          {"last", moment_json(record.last)}};
}

ExpertsRecord experts_from(const RecordPart& part) {
  ExpertsRecord record;
  record.device = part.text("device");
  record.steps = part.whole("steps", 0, 0);
  record.steps_per_epoch = part.whole("steps_per_epoch", 1, 1);
  record.top_k = part.whole("top_k", 1, 1);
  record.room = part.whole("room", 0, 0);
  record.parameters = part.whole("parameters", 0, 0);
  record.active_parameters = part.whole("active_parameters", 0, 0);
  part.each("classes", [&](const json& value, const RecordPart::Place& place) {
    record.classes.push_back(RecordPart::text_of(value, place));
  });
  part.each("events", [&](const json& value, const RecordPart::Place& place) {
    const RecordPart event(value, place);
    record.events.push_back({event.whole("step", 0, 0), event.text("kind"), event.text("text")});
  });
  const auto read = [&](const char* key, std::vector<ExpertsRecord::Moment>& into) {
    part.each(key, [&](const json& value, const RecordPart::Place& place) {
      into.push_back(moment_in(RecordPart(value, place), record));
      const auto last = into.rbegin();
      if (into.size() > 1 && last->step < (last + 1)->step)
        refuse("{}: the {} are not in the order of their steps", place(), key);
    });
  };
  read("moments", record.moments);
  if (part.has("epochs")) read("epochs", record.epochs);
  if (!part.has("last")) refuse("{} is missing", part.place_of("last"));
  record.last = moment_in(RecordPart(part.at("last"), [&] { return part.place_of("last"); }), record);
  return record;
}

std::vector<const ExpertsRecord::Moment*> ExpertsRecord::moments_over_time() const {
  std::vector<const Moment*> all;
  for (const Moment& each : epochs.empty() ? moments : epochs) all.push_back(&each);
  if (!epochs.empty() && last.step > epochs.back().step) all.push_back(&last);
  return all;
}

std::vector<LivingExperts> living_experts(const ExpertsRecord& record) {
  auto count = static_cast<std::int64_t>(record.last.nodes.size());
  std::vector<LivingExperts> course{{record.steps, count}};
  for (auto each = record.events.rbegin(); each != record.events.rend(); ++each) {
    const bool is_born = each->kind == "born";
    if (!is_born && each->kind != "merged" && each->kind != "removed") continue;
    if (course.back().step > each->step || course.size() == 1) course.push_back({each->step, count});
    count += is_born ? -1 : 1;
  }
  course.push_back({0, count});
  std::ranges::reverse(course);
  return course;
}

}  // namespace stoker
