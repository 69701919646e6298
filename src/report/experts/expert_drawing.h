#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "store/record/experts_record.h"

// The graph of experts as it is drawn, in a picture and on the page: in pixels, y downwards.
namespace stoker {

constexpr double width_of_expert_graph = 1200;
constexpr double height_of_expert_graph = 640;
constexpr double points_of_expert_labels = 11;  // of their font

// Of a record without all of its events.
inline constexpr const char* unknown_events =
    "Only the last 1,000 events are known: what was before them is not counted.";

struct DrawnExpert {
  std::int64_t number = 0;
  double x = 0;
  double y = 0;
  double radius = 0;  // its area goes by the rows that it answered for, beside the busiest
  double rows = 0;
  double specialisation = 0;
  std::string label;  // the classes that it answers for more than any other; empty: none, or no room
  double label_x = 0;
  double label_y = 0;  // the middle of its line
  int side = 1;  // of the expert that the label stands on: -1: left, it ends there; 0: its middle is there
};

struct DrawnTie {
  double x1 = 0;
  double y1 = 0;
  double x2 = 0;
  double y2 = 0;
  ExpertTie tie = ExpertTie::similar;
  double weight = 0;
};

struct DrawnExperts {
  std::vector<DrawnExpert> experts;
  std::vector<DrawnTie> ties;  // the strongest
};

// Every expert of a record has a place of its own on a circle, beside the one that it is a copy of; the place
// stays empty while the expert does not live.
class ExpertPlaces {
 public:
  explicit ExpertPlaces(const ExpertsRecord& record);
  DrawnExperts drawn(const ExpertsRecord::Moment& moment) const;

 private:
  void add_labels(const ExpertsRecord::Moment& moment, DrawnExperts& drawn) const;

  std::vector<std::string> classes_;
  std::map<std::int64_t, std::pair<double, double>> places_;  // by number
  double largest_radius_ = 0;
};

// Moments of which at most so many pictures are drawn: the first, the last, and some between, each of another
// epoch.
std::vector<const ExpertsRecord::Moment*> moments_to_draw(const ExpertsRecord& record, std::size_t most);

}  // namespace stoker
