#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text/text.h"
#include "data/cubes/coco_masks.h"
#include "data/cubes/found_cubes.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

void to_classes(const std::vector<float>& numbers, std::uint8_t* to, const std::string& shown) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float each = numbers[i];
    if (!(each >= 0 && each <= 255) || each != std::floor(each))
      refuse("{} has the value {}; classes are whole numbers from 0 (nothing) to 255", shown, each);
    to[i] = static_cast<std::uint8_t>(each);
  }
}

std::string cubes_text(const std::vector<FoundCube>& cubes, std::size_t first, std::size_t count) {
  if (count == 1)
    return fmt::format("the cube '{}' has {}", printable(cubes[first].name), cubes[first].size_text());
  return fmt::format("there are {} of {}", counted(count, "cube"), cubes[first].size_text());
}

// A mask that is beside others in its array, or alone in it.
void attach_mask(const std::shared_ptr<const StoredArray>& masks, std::optional<std::int64_t> slice,
                 const std::string& shown, FoundCube& cube) {
  const std::int64_t height = cube.size(0);
  const auto pixels = static_cast<std::size_t>(height * cube.size(1));
  cube.read_mask = [masks, slice, shown, height, pixels](std::uint8_t* to) {
    std::vector<float> numbers(pixels);
    masks->read(slice.value_or(0), slice ? 1 : height, numbers.data());
    to_classes(numbers, to, shown);
  };
}

std::string without_ending(const fs::path& path) {
  return fs::path(path).replace_extension().string();
}

class CocoAttaching {
 public:
  CocoAttaching(const fs::path& file, std::string shown, FoundCubes& found)
      : shown_(std::move(shown)),
        masks_(std::make_shared<const CocoMasks>(CocoMasks::read(file, shown_))),
        found_(found) {}

  void attach() {
    std::optional<CubesOfImages> found = by_names();
    if (!found) found = by_numbers();
    if (!found)
      refuse("{}: none of its {} is a cube of the source, neither by file_name ('{}') nor by id", shown_,
             counted(masks_->images().size(), "image"), printable(masks_->images().front().file_name));
    refuse_doubles(*found);
    for (const auto& [image, cube] : *found) take(image, found_.cubes[cube]);
    if (const std::size_t left = masks_->images().size() - found->size(); left > 0)
      found_.warnings.push_back(fmt::format("{}: {} of {} {} to no cube", shown_, human_count(left),
                                            counted(masks_->images().size(), "image"),
                                            left == 1 ? "belongs" : "belong"));
    if (masks_->regions_of_class_0() > 0)
      found_.warnings.push_back(
          fmt::format("{}: {} of category 0, which stands for nothing in a mask; give it another id", shown_,
                      counted(static_cast<std::uint64_t>(masks_->regions_of_class_0()), "region")));
    for (const auto& [number, name] : masks_->classes())
      if (number != 0 && !name.empty()) found_.classes[number] = name;
  }

 private:
  using CubesOfImages = std::vector<std::pair<std::size_t, std::size_t>>;

  // The cube of an image by the name of its file, with its folders and its ending or without. None where no
  // name tells, or where a name is that of several cubes of one file.
  std::optional<CubesOfImages> by_names() const {
    std::map<std::string, std::set<std::size_t>> cubes;
    for (std::size_t i = 0; i < found_.cubes.size(); ++i)
      for (const std::string& name :
           {found_.cubes[i].name, fs::path(found_.cubes[i].name).filename().string(),
            found_.cubes[i].file.filename().string()})
        cubes[name].insert(i);
    CubesOfImages found;
    for (std::size_t i = 0; i < masks_->images().size(); ++i) {
      const fs::path name(masks_->images()[i].file_name);
      for (const std::string& each :
           {name.string(), without_ending(name), name.filename().string(), without_ending(name.filename())}) {
        const auto owners = cubes.find(each);
        if (each.empty() || owners == cubes.end()) continue;
        if (owners->second.size() > 1) return std::nullopt;
        found.emplace_back(i, *owners->second.begin());
        break;
      }
    }
    return found.empty() ? std::nullopt : std::optional(found);
  }

  // As cuvis numbers the measurements of a session.
  std::optional<CubesOfImages> by_numbers() {
    CubesOfImages found;
    for (std::size_t i = 0; i < masks_->images().size(); ++i) {
      const std::int64_t id = masks_->images()[i].id;
      if (id < 0 || id >= std::ssize(found_.cubes)) return std::nullopt;
      found.emplace_back(i, static_cast<std::size_t>(id));
    }
    found_.remarks.push_back(
        fmt::format("{}: its images are matched to cubes by id, counted from 0", shown_));
    return found;
  }

  void refuse_doubles(const CubesOfImages& found) const {
    std::map<std::size_t, std::size_t> images;
    for (const auto& [image, cube] : found)
      if (const auto [other, is_first] = images.emplace(cube, image); !is_first)
        refuse("{}: images {} and {} both belong to the cube '{}'", shown_,
               masks_->images()[other->second].id, masks_->images()[image].id,
               printable(found_.cubes[cube].name));
  }

  void take(std::size_t i, FoundCube& cube) {
    const CocoMasks::Image& image = masks_->images()[i];
    if (image.height != cube.size(0) || image.width != cube.size(1))
      refuse("{}: image {} has {} x {} pixels (height x width), but the cube '{}' has {}", shown_, image.id,
             image.height, image.width, printable(cube.name), cube.size_text());
    if (cube.read_mask != nullptr) return;  // it has one by itself
    cube.read_mask = [masks = masks_, i](std::uint8_t* to) { masks->draw(i, to); };
  }

  std::string shown_;
  std::shared_ptr<const CocoMasks> masks_;
  FoundCubes& found_;
};

void attach_masks_of_folder(const fs::path& folder, const SourceConfig& config, FoundCubes& found) {
  std::size_t used = 0;
  for (std::size_t i = 0; i < found.cubes.size(); ++i) {
    const std::string stem = fs::path(found.cubes[i].name).filename().string();
    for (const std::string& name :
         {stem + ".npy", stem + "_mask.npy", stem + ".npz", stem + ".hdr", stem + "_mask.hdr"}) {
      std::error_code error;
      if (!fs::is_regular_file(folder / name, error)) continue;
      ++used;
      if (found.cubes[i].read_mask != nullptr) break;
      const std::string shown = fmt::format("'{}'", printable((fs::path(config.mask_path) / name).string()));
      attach_masks(mask_array(folder / name, shown, config, found), shown, found.cubes, i, 1);
      break;
    }
  }
  if (used == 0)
    refuse("mask_path: the folder '{}' has no mask of any cube, such as '{}.npy'",
           printable(config.mask_path), printable(found.cubes.front().name));
}

}  // namespace

void attach_masks(const StoredArray& masks, const std::string& shown, std::vector<FoundCube>& cubes,
                  std::size_t first, std::size_t count) {
  const auto number = static_cast<std::int64_t>(count);
  const Shape one{cubes[first].size(0), cubes[first].size(1)};
  Shape shape = masks.shape;
  if (shape.size() > 2 && shape.back() == 1 && shape != Shape{number, one[0], one[1]}) shape.pop_back();
  const bool is_alone = count == 1 && shape == one;
  if (!is_alone && shape != Shape{number, one[0], one[1]})
    refuse("{} has the shape {}, but {}; masks have a class for each of their pixels", shown,
           shape_text(masks.shape), cubes_text(cubes, first, count));
  const auto shared = std::make_shared<const StoredArray>(masks);
  for (std::size_t i = 0; i < count; ++i) {
    FoundCube& cube = cubes[first + i];
    if (cube.size(0) != one[0] || cube.size(1) != one[1])
      refuse("{} is of {}, but the cube '{}' has {}", shown, cubes[first].size_text(), printable(cube.name),
             cube.size_text());
    if (cube.read_mask == nullptr)
      attach_mask(shared, is_alone ? std::nullopt : std::optional(static_cast<std::int64_t>(i)), shown, cube);
  }
}

void attach_masks_of_path(const SourceConfig& config, const fs::path& base, FoundCubes& found) {
  if (config.mask_path.empty()) return;
  const fs::path path = base / config.mask_path;
  const std::string shown = fmt::format("'{}'", printable(config.mask_path));
  std::error_code error;
  if (fs::is_directory(path, error)) return attach_masks_of_folder(path, config, found);
  if (!fs::exists(path, error)) refuse("the file {} of mask_path does not exist", shown);
  if (lower_case(path.extension().string()) == ".json") {
    found.files.push_back(path);
    return CocoAttaching(path, shown, found).attach();
  }
  attach_masks(mask_array(path, shown, config, found), shown, found.cubes, 0, found.cubes.size());
}

namespace {

void refuse_outside(const fs::path& mask, const fs::path& folder, const std::string& shown) {
  std::error_code error;
  const fs::path there = fs::weakly_canonical(mask, error);
  const fs::path inside = there.lexically_relative(fs::weakly_canonical(folder, error));
  if (error || inside.empty() || *inside.begin() == "..")
    refuse("the mask {} is a link out of the folder of the list", shown);
}

}  // namespace

// NAME_mask beside NAME, in a form that masks have.
void attach_mask_beside(const fs::path& file, const SourceConfig& config, std::size_t first,
                        FoundCubes& found, const fs::path& within) {
  if (!config.mask_path.empty()) return;
  for (const char* ending : {"_mask.npy", "_masks.npy", "_mask.hdr"}) {
    const fs::path mask = fs::path(file).replace_extension().string() + ending;
    std::error_code error;
    if (!fs::is_regular_file(mask, error)) continue;
    const std::string shown = fmt::format("'{}'", printable(mask.filename().string()));
    if (!within.empty()) refuse_outside(mask, within, shown);
    return attach_masks(mask_array(mask, shown, config, found), shown, found.cubes, first,
                        found.cubes.size() - first);
  }
}

}  // namespace stoker
