#include "report/experts/expert_drawing.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "base/text/text.h"
#include "report/plot/axis_ticks.h"
#include "report/plot/gnuplot.h"

namespace stoker {
namespace {

constexpr double radius_of_circle = 238;
constexpr double largest_expert = 40;
constexpr double smallest_share = 0.35;  // of the largest radius
constexpr std::size_t strongest_followers = 2;
constexpr std::size_t named_classes = 4;
constexpr std::size_t longest_class = 12;
constexpr std::size_t longest_expert_label = 26;
constexpr double width_of_letter = width_of_character * pixels_of_font(points_of_expert_labels);
constexpr double height_of_label = 1.3 * pixels_of_font(points_of_expert_labels);
// Ties of several kinds between the same two lie side by side; those with a direction on its right.
constexpr double apart = 9;

// All experts of a record, each behind its parent.
class Lineage {
 public:
  explicit Lineage(const ExpertsRecord& record) {
    const auto know = [&](const ExpertsRecord::Moment& moment) {
      for (const ExpertsRecord::Node& each : moment.nodes) parents_.emplace(each.number, each.parent);
    };
    for (const ExpertsRecord::Moment& each : record.moments) know(each);
    for (const ExpertsRecord::Moment& each : record.epochs) know(each);
    know(record.last);
    std::map<std::int64_t, std::vector<std::int64_t>> children;
    std::vector<std::int64_t> open;
    for (const auto& [number, parent] : parents_)
      // A parent is born before its child: whatever a file says, there is no circle.
      if (parent < number && parents_.contains(parent))
        children[parent].push_back(number);
      else
        open.push_back(number);
    std::ranges::reverse(open);
    while (!open.empty()) {
      order_.push_back(open.back());
      open.pop_back();
      const std::vector<std::int64_t>& of_it = children[order_.back()];
      open.insert(open.end(), of_it.rbegin(), of_it.rend());
    }
  }

  const std::vector<std::int64_t>& order() const { return order_; }

 private:
  std::map<std::int64_t, std::int64_t> parents_;
  std::vector<std::int64_t> order_;
};

// Similar ones twice as many as experts; of followers those that an expert has most.
std::vector<ExpertsRecord::Edge> strongest(const ExpertsRecord::Moment& moment) {
  std::vector<ExpertsRecord::Edge> edges = moment.edges;
  std::ranges::stable_sort(edges, std::greater(), &ExpertsRecord::Edge::weight);
  std::vector<ExpertsRecord::Edge> chosen;
  std::map<std::int64_t, std::size_t> followers;
  std::size_t similar = 0;
  for (const ExpertsRecord::Edge& each : edges) {
    if (each.tie == ExpertTie::similar && ++similar > 2 * moment.nodes.size()) continue;
    if (each.tie == ExpertTie::follows && ++followers[each.from] > strongest_followers) continue;
    chosen.push_back(each);
  }
  return chosen;
}

DrawnTie tie_between(const DrawnExpert& from, const DrawnExpert& to, const ExpertsRecord::Edge& edge) {
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  const double along_x = length > 0 ? (to.x - from.x) / length : 1;
  const double along_y = length > 0 ? (to.y - from.y) / length : 0;
  // Never so far that it would pass by the smaller one.
  const double smaller = std::min(from.radius, to.radius);
  const double aside = std::min(apart, 0.4 * smaller) * static_cast<double>(edge.tie);
  const double begin = std::sqrt(from.radius * from.radius - aside * aside) + 1;
  const double end = length - std::sqrt(to.radius * to.radius - aside * aside) - 2;
  const auto x = [&](double at) { return from.x + along_x * at - along_y * aside; };
  const auto y = [&](double at) { return from.y + along_y * at + along_x * aside; };
  return {x(begin), y(begin), x(end), y(end), edge.tie, edge.weight};
}

// The classes that each expert answers for more than any other does, by its place in the moment.
std::vector<std::vector<std::size_t>> classes_by_expert(const ExpertsRecord::Moment& moment,
                                                        std::size_t classes) {
  std::vector<std::vector<std::size_t>> own(moment.nodes.size());
  for (std::size_t c = 0; c < classes; ++c) {
    const auto share = [&](const ExpertsRecord::Node& node) {
      return node.classes.empty() ? 0.0 : node.classes[c];
    };
    const auto best = std::ranges::max_element(moment.nodes, {}, share);
    if (best != moment.nodes.end() && share(*best) > 0)
      own[static_cast<std::size_t>(best - moment.nodes.begin())].push_back(c);
  }
  return own;
}

// Names that begin alike differ at their ends.
std::string shortened_class(const std::string& name) {
  std::vector<std::string> letters;
  for (std::string_view rest = name; !rest.empty(); rest.remove_prefix(letters.back().size()))
    letters.emplace_back(rest.substr(0, bytes_of_character(rest)));
  if (letters.size() <= longest_class) return name;
  const auto at_end = static_cast<std::ptrdiff_t>(longest_class / 2 - 1);
  const std::vector<std::string> first(letters.begin(), letters.begin() + at_end + 1);
  const std::vector<std::string> last(letters.end() - at_end, letters.end());
  return join(first, "") + "…" + join(last, "");
}

// As many as stand between the circle and the edge.
std::string label_of(const std::vector<std::size_t>& own, const std::vector<std::string>& classes) {
  std::string label;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::string more = (i == 0 ? "" : ", ") + shortened_class(classes[own[i]]);
    if (i == named_classes || characters_in(label + more) > longest_expert_label) return label + ", …";
    label += more;
  }
  return label;
}

struct Box {
  double left;
  double top;
  double right;
  double bottom;
  bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

Box box_of(const DrawnExpert& expert) {
  const double width = width_of_letter * static_cast<double>(characters_in(expert.label));
  const double left = expert.side < 0   ? expert.label_x - width
                      : expert.side > 0 ? expert.label_x
                                        : expert.label_x - width / 2;
  return {left, expert.label_y - height_of_label / 2, left + width, expert.label_y + height_of_label / 2};
}

}  // namespace

ExpertPlaces::ExpertPlaces(const ExpertsRecord& record) : classes_(record.classes) {
  const Lineage lineage(record);
  const auto count = static_cast<double>(lineage.order().size());
  for (std::size_t i = 0; i < lineage.order().size(); ++i) {
    const double angle = 2 * std::numbers::pi * (static_cast<double>(i) + 0.5) / count;
    places_[lineage.order()[i]] = {width_of_expert_graph / 2 + radius_of_circle * std::sin(angle),
                                   height_of_expert_graph / 2 - radius_of_circle * std::cos(angle)};
  }
  const double distance = 2 * radius_of_circle * std::sin(std::numbers::pi / std::max(count, 2.0));
  largest_radius_ = std::min(largest_expert, 0.42 * distance);
}

DrawnExperts ExpertPlaces::drawn(const ExpertsRecord::Moment& moment) const {
  DrawnExperts drawn;
  double most_rows = 0;
  for (const ExpertsRecord::Node& each : moment.nodes) most_rows = std::max(most_rows, each.rows);
  std::map<std::int64_t, std::size_t> by_number;
  for (const ExpertsRecord::Node& each : moment.nodes) {
    const auto [x, y] = places_.at(each.number);
    const double share = most_rows > 0 ? std::sqrt(each.rows / most_rows) : 0;
    by_number[each.number] = drawn.experts.size();
    drawn.experts.push_back({.number = each.number,
                             .x = x,
                             .y = y,
                             .radius = largest_radius_ * std::max(share, smallest_share),
                             .rows = each.rows,
                             .specialisation = each.specialisation,
                             .label = ""});
  }
  for (const ExpertsRecord::Edge& each : strongest(moment))
    drawn.ties.push_back(
        tie_between(drawn.experts[by_number.at(each.from)], drawn.experts[by_number.at(each.to)], each));
  add_labels(moment, drawn);
  return drawn;
}

void ExpertPlaces::add_labels(const ExpertsRecord::Moment& moment, DrawnExperts& drawn) const {
  const auto own = classes_by_expert(moment, classes_.size());
  std::vector<Box> taken;
  for (std::size_t i = 0; i < drawn.experts.size(); ++i) {
    DrawnExpert& expert = drawn.experts[i];
    expert.label = label_of(own[i], classes_);
    const double out_x = (expert.x - width_of_expert_graph / 2) / radius_of_circle;
    const double out_y = (expert.y - height_of_expert_graph / 2) / radius_of_circle;
    expert.side = std::abs(out_x) < 0.01 ? 0 : out_x < 0 ? -1 : 1;
    const double distance = expert.radius + (expert.side == 0 ? 16 : 8);
    expert.label_x = expert.x + out_x * distance;
    expert.label_y = expert.y + out_y * (distance + 4);
    const Box box = box_of(expert);
    const bool has_room =
        std::ranges::none_of(taken, [&](const Box& each) { return each.meets(box); }) &&
        std::ranges::none_of(drawn.experts, [&](const DrawnExpert& each) {
          return Box{each.x - each.radius, each.y - each.radius, each.x + each.radius, each.y + each.radius}
                     .meets(box) &&
                 each.number != expert.number;
        });
    if (has_room)
      taken.push_back(box);
    else
      expert.label.clear();
  }
}

std::vector<const ExpertsRecord::Moment*> moments_to_draw(const ExpertsRecord& record, std::size_t most) {
  std::map<std::int64_t, const ExpertsRecord::Moment*> by_epoch;
  for (const ExpertsRecord::Moment* each : record.moments_over_time()) by_epoch[each->epoch] = each;
  std::vector<const ExpertsRecord::Moment*> all;
  for (const auto& [epoch, moment] : by_epoch) all.push_back(moment);
  if (all.size() <= most) return all;
  std::vector<const ExpertsRecord::Moment*> chosen;
  for (std::size_t i = 0; i < most; ++i)
    chosen.push_back(all[most == 1 ? all.size() - 1 : i * (all.size() - 1) / (most - 1)]);
  return chosen;
}

}  // namespace stoker
