#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

// Annotations in the JSON of COCO (cocodataset.org): images, categories, and regions of an image as polygons
// or as lengths of runs, packed in a text or not.
namespace stoker {

class CocoMasks {
 public:
  struct Image {
    std::int64_t id = 0;
    std::string file_name;
    std::int64_t height = 0;
    std::int64_t width = 0;
  };

  // All that can be wrong with it is refused here; `shown` names it to people.
  static CocoMasks read(const std::filesystem::path& file, const std::string& shown);
  static CocoMasks parse(const std::string& text, const std::string& shown);

  const std::vector<Image>& images() const { return images_; }
  const std::map<int, std::string>& classes() const { return classes_; }
  // Regions of category 0, which marks nothing.
  std::int64_t regions_of_class_0() const;
  // The mask of an image, [height, width]: classes are ids of categories; of regions that overlap, the later
  // one counts.
  void draw(std::size_t image, std::uint8_t* to) const;

 private:
  friend class CocoReading;

  struct Region {
    int category = 0;
    std::vector<std::vector<double>> polygons;  // x, y, x, y, …
    std::vector<std::int64_t> runs;             // outside and inside in turns, column by column
  };

  std::vector<Image> images_;
  std::map<int, std::string> classes_;
  std::vector<std::vector<Region>> regions_;  // of each image
};

}  // namespace stoker
