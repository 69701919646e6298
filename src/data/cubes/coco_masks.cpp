#include "data/cubes/coco_masks.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "config/bounded_json.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::size_t largest_annotations = std::size_t{1} << 30U;
constexpr std::int64_t largest_image_side = 1'000'000;

// Six bits in a character from '0' on, five of them of the number; all but the first two numbers are told by
// what they differ from the one two before.
std::vector<std::int64_t> unpacked_runs(const std::string& text) {
  std::vector<std::int64_t> runs;
  std::size_t at = 0;
  while (at < text.size()) {
    std::int64_t value = 0;
    for (unsigned shift = 0;; shift += 5) {
      if (at == text.size() || shift > 35) return {};
      const int bits = text[at++] - 48;
      if (bits < 0 || bits > 63) return {};
      value |= static_cast<std::int64_t>(bits & 0x1f) << shift;
      if ((bits & 0x20) != 0) continue;
      if ((bits & 0x10) != 0) value |= -(std::int64_t{1} << (shift + 5));
      break;
    }
    if (runs.size() > 2) value += runs[runs.size() - 2];
    runs.push_back(value);
  }
  return runs;
}

struct Corner {
  std::int64_t x = 0;
  std::int64_t y = 0;
};

// The outline of a polygon in steps of a fifth of a pixel, as pycocotools walks it: masks are the same as
// those that people know from there.
constexpr std::int64_t steps_of_pixel = 5;

std::vector<Corner> outline_of(const std::vector<double>& polygon) {
  const auto scaled = [&](std::size_t i) {
    return static_cast<std::int64_t>(static_cast<double>(steps_of_pixel) * polygon[i] + 0.5);
  };
  std::vector<Corner> outline;
  const std::size_t corners = polygon.size() / 2;
  for (std::size_t i = 0; i < corners; ++i) {
    const std::size_t next = (i + 1) % corners;
    Corner from{scaled(2 * i), scaled(2 * i + 1)};
    Corner to{scaled(2 * next), scaled(2 * next + 1)};
    const std::int64_t across = std::abs(to.x - from.x);
    const std::int64_t down = std::abs(to.y - from.y);
    const bool is_flat = across >= down;
    const bool is_backwards = is_flat ? from.x > to.x : from.y > to.y;
    if (is_backwards) std::swap(from, to);
    const std::int64_t steps = is_flat ? across : down;
    const double slope = steps == 0 ? 0
                         : is_flat  ? static_cast<double>(to.y - from.y) / static_cast<double>(across)
                                    : static_cast<double>(to.x - from.x) / static_cast<double>(down);
    for (std::int64_t step = 0; step <= steps; ++step) {
      const std::int64_t along = is_backwards ? steps - step : step;
      const double aside = slope * static_cast<double>(along);
      const auto rounded = [&](std::int64_t begin) {
        return static_cast<std::int64_t>(static_cast<double>(begin) + aside + 0.5);
      };
      outline.push_back(is_flat ? Corner{from.x + along, rounded(from.y)}
                                : Corner{rounded(from.x), from.y + along});
    }
  }
  return outline;
}

// The places of an image, counted column by column, where the outline is crossed downwards: inside is what
// lies behind an odd number of them.
std::vector<std::int64_t> crossings_of(const std::vector<double>& polygon, std::int64_t height,
                                       std::int64_t width) {
  std::vector<std::int64_t> crossings;
  const std::vector<Corner> outline = outline_of(polygon);
  for (std::size_t i = 1; i < outline.size(); ++i) {
    const Corner& one = outline[i - 1];
    const Corner& two = outline[i];
    if (one.x == two.x) continue;
    const auto in_pixels = [](std::int64_t steps) {
      return (static_cast<double>(steps) + 0.5) / static_cast<double>(steps_of_pixel) - 0.5;
    };
    const double x = in_pixels(two.x < one.x ? two.x : two.x - 1);
    if (std::floor(x) != x || x < 0 || x > static_cast<double>(width - 1)) continue;
    const double y = std::clamp(in_pixels(std::min(one.y, two.y)), 0.0, static_cast<double>(height));
    crossings.push_back(static_cast<std::int64_t>(x) * height + static_cast<std::int64_t>(std::ceil(y)));
  }
  std::ranges::sort(crossings);
  return crossings;
}

}  // namespace

class CocoReading {
 public:
  CocoReading(const std::string& text, std::string shown) : shown_(std::move(shown)) {
    try {
      root_ = config::parse_bounded_json(text, {.values = 30'000'000, .containers = 3'000'000, .depth = 8});
    } catch (const json::parse_error&) {
      damaged("it is not JSON");
    } catch (const Error& error) {
      damaged(error.what());
    }
    if (!root_.is_object()) damaged("it is not a JSON object");
    take_images();
    take_categories();
    take_annotations();
  }
  CocoMasks masks() { return std::move(masks_); }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    refuse("{} does not hold annotations in COCO form: {}", shown_, what);
  }

  // Of 64 bits with a sign; larger ones would become other numbers.
  static bool is_integer(const json& value) {
    return value.is_number_integer() &&
           !(value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX});
  }
  const json& list(const char* name) const {
    const auto found = root_.find(name);
    if (found == root_.end() || !found->is_array()) damaged(fmt::format("it has no list '{}'", name));
    return *found;
  }
  std::int64_t whole(const json& of, const char* name, const std::string& what) const {
    const auto found = of.is_object() ? of.find(name) : of.end();
    if (!of.is_object() || found == of.end() || !is_integer(*found))
      damaged(fmt::format("{} has no integer '{}'", what, name));
    return found->get<std::int64_t>();
  }
  std::string text(const json& of, const char* name) const {
    const auto found = of.is_object() ? of.find(name) : of.end();
    return of.is_object() && found != of.end() && found->is_string() ? found->get<std::string>() : "";
  }

  void take_images() {
    for (const json& each : list("images")) {
      const CocoMasks::Image image{whole(each, "id", "an image"), text(each, "file_name"),
                                   whole(each, "height", "an image"), whole(each, "width", "an image")};
      if (image.height < 1 || image.width < 1 || image.height > largest_image_side ||
          image.width > largest_image_side)
        damaged(fmt::format("image {} has {} x {} pixels", image.id, image.height, image.width));
      if (!places_.emplace(image.id, masks_.images_.size()).second)
        damaged(fmt::format("image {} appears twice", image.id));
      masks_.images_.push_back(image);
    }
    masks_.regions_.resize(masks_.images_.size());
    if (masks_.images_.empty()) damaged("it has no images");
  }

  void take_categories() {
    for (const json& each : list("categories")) {
      const std::int64_t id = whole(each, "id", "a category");
      if (id < 0 || id > 255)
        damaged(fmt::format("category {} cannot be a class of a mask; ids from 1 to 255 can", id));
      if (!masks_.classes_.emplace(static_cast<int>(id), text(each, "name")).second)
        damaged(fmt::format("category {} appears twice", id));
    }
  }

  void take_annotations() {
    std::size_t number = 0;
    for (const json& each : list("annotations")) {
      ++number;
      const std::string what = each.is_object() && each.contains("id") && is_integer(each["id"])
                                   ? fmt::format("annotation {}", each["id"].get<std::int64_t>())
                                   : fmt::format("the annotation at place {}", number);
      const std::int64_t image = whole(each, "image_id", what);
      const auto found = places_.find(image);
      if (found == places_.end()) damaged(fmt::format("{} is of image {}, which is missing", what, image));
      const CocoMasks::Image& drawn = masks_.images_[found->second];
      const std::int64_t category = whole(each, "category_id", what);
      if (category < 0 || category > 255 || !masks_.classes_.contains(static_cast<int>(category)))
        damaged(fmt::format("{} is of category {}, which is missing", what, category));
      CocoMasks::Region region;
      region.category = static_cast<int>(category);
      const auto shape = each.find("segmentation");
      if (shape == each.end()) damaged(fmt::format("{} has no 'segmentation'", what));
      if (shape->is_array()) {
        take_polygons(*shape, what, drawn, region);
      } else if (shape->is_object()) {
        take_runs(*shape, what, drawn, region);
      } else {
        damaged(fmt::format("the segmentation of {} is neither polygons nor run lengths", what));
      }
      masks_.regions_[found->second].push_back(std::move(region));
    }
  }

  void take_polygons(const json& given, const std::string& what, const CocoMasks::Image& image,
                     CocoMasks::Region& region) const {
    const bool is_one = !given.empty() && given.front().is_number();  // some leave the outer list away
    if (is_one) return take_polygon(given, what, image, region);
    for (const json& each : given) take_polygon(each, what, image, region);
  }

  void take_polygon(const json& each, const std::string& what, const CocoMasks::Image& image,
                    CocoMasks::Region& region) const {
    constexpr std::size_t most_numbers = 200'000;
    if (!each.is_array() || each.size() < 6 || each.size() % 2 != 0 || each.size() > most_numbers)
      damaged(fmt::format("a polygon of {} is not a list of x, y, x, y, … with three corners or more", what));
    std::vector<double> polygon;
    for (const json& number : each) {
      if (!number.is_number()) damaged(fmt::format("a corner of {} is not a number", what));
      polygon.push_back(number.get<double>());
      const double most = static_cast<double>(polygon.size() % 2 == 1 ? image.width : image.height);
      // A pixel beyond the edge is what drawing programs leave.
      if (!(polygon.back() >= -1 && polygon.back() <= most + 1))
        damaged(fmt::format(
            "a polygon of {} has a corner at {} = {}, outside of its image of {} x {} pixels "
            "(width x height)",
            what, polygon.size() % 2 == 1 ? "x" : "y", polygon.back(), image.width, image.height));
    }
    refuse_endless(polygon, what);
    region.polygons.push_back(std::move(polygon));
  }

  void refuse_endless(const std::vector<double>& polygon, const std::string& what) const {
    constexpr double longest_outline = 1e7;  // pixels
    double length = 0;
    for (std::size_t i = 2; i < polygon.size(); ++i) length += std::abs(polygon[i] - polygon[i - 2]);
    if (length > longest_outline)
      damaged(fmt::format("the outline of {} is {:.0f} pixels long, longer than that of any region", what,
                          length));
  }

  void take_runs(const json& given, const std::string& what, const CocoMasks::Image& image,
                 CocoMasks::Region& region) const {
    const auto size = given.find("size");
    const auto counts = given.find("counts");
    if (size == given.end() || counts == given.end())
      damaged(fmt::format("the run lengths of {} have no 'size' or no 'counts'", what));
    if (*size != json::array({image.height, image.width}))
      damaged(fmt::format("the run lengths of {} are of {} (height, width), its image of {} x {}", what,
                          shortened(size->dump()), image.height, image.width));
    std::vector<std::int64_t> runs;
    if (counts->is_string()) {
      runs = unpacked_runs(counts->get<std::string>());
      if (runs.empty()) damaged(fmt::format("the packed run lengths of {} cannot be unpacked", what));
    } else if (counts->is_array()) {
      for (const json& each : *counts) {
        if (!is_integer(each)) damaged(fmt::format("a run length of {} is not an integer", what));
        runs.push_back(each.get<std::int64_t>());
      }
    } else {
      damaged(fmt::format("the counts of {} are neither a text nor a list", what));
    }
    const std::int64_t pixels = image.height * image.width;
    std::int64_t sum = 0;
    for (const std::int64_t run : runs) {
      if (run < 0 || run > pixels) damaged(fmt::format("a run of {} has the length {}", what, run));
      sum = std::min(sum + run, pixels + 1);
    }
    if (sum != pixels)
      damaged(fmt::format("the run lengths of {} add up to {}, and its image has {} pixels", what,
                          sum > pixels ? "more" : fmt::format("{}", sum), pixels));
    region.runs = std::move(runs);
  }

  std::string shown_;
  json root_;
  CocoMasks masks_;
  std::map<std::int64_t, std::size_t> places_;
};

CocoMasks CocoMasks::parse(const std::string& text, const std::string& shown) {
  return CocoReading(text, shown).masks();
}

CocoMasks CocoMasks::read(const std::filesystem::path& file, const std::string& shown) {
  return parse(read_file(file, largest_annotations), shown);
}

std::int64_t CocoMasks::regions_of_class_0() const {
  std::int64_t sum = 0;
  for (const std::vector<Region>& each : regions_) sum += std::ranges::count(each, 0, &Region::category);
  return sum;
}

void CocoMasks::draw(std::size_t image, std::uint8_t* to) const {
  const std::int64_t height = images_[image].height;
  const std::int64_t width = images_[image].width;
  std::fill_n(to, height * width, std::uint8_t{0});
  for (const Region& region : regions_[image]) {
    const auto mark = [&](std::int64_t place) {
      to[place % height * width + place / height] = static_cast<std::uint8_t>(region.category);
    };
    // From every first crossing to the one after it; a last one without another goes on to the end.
    for (const std::vector<double>& polygon : region.polygons) {
      std::vector<std::int64_t> crossings = crossings_of(polygon, height, width);
      if (crossings.size() % 2 == 1) crossings.push_back(height * width);
      for (std::size_t i = 0; i < crossings.size(); i += 2)
        for (std::int64_t place = crossings[i]; place < std::min(crossings[i + 1], height * width); ++place)
          mark(place);
    }
    std::int64_t place = 0;
    for (std::size_t i = 0; i < region.runs.size(); ++i)
      for (std::int64_t run = 0; run < region.runs[i]; ++run, ++place)
        if (i % 2 == 1) mark(place);
  }
}

}  // namespace stoker
