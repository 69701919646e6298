// Masks in COCO form. What polygons and packed runs stand for is told by pycocotools:
// tests/reference/coco_masks.py.
#include "data/cubes/coco_masks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "data/cube_fixtures.h"

namespace stoker {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json coco(std::int64_t height, std::int64_t width, const json& segmentation) {
  return {
      {"images", {{{"id", 1}, {"file_name", "a.npy"}, {"height", height}, {"width", width}}}},
      {"categories", {{{"id", 1}, {"name", "stone"}}, {{"id", 7}, {"name", "weed"}}}},
      {"annotations", {{{"id", 5}, {"image_id", 1}, {"category_id", 7}, {"segmentation", segmentation}}}}};
}

std::vector<std::uint8_t> drawn(const json& file) {
  const CocoMasks masks = CocoMasks::parse(file.dump(), "'a.json'");
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(masks.images()[0].height * masks.images()[0].width),
                                 9);
  masks.draw(0, mask.data());
  return mask;
}

std::vector<std::uint8_t> of_runs(const json& runs, std::size_t height, std::size_t width) {
  std::vector<std::uint8_t> mask(height * width);
  std::size_t at = 0;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (std::size_t run = 0; run < runs[i].get<std::size_t>(); ++run, ++at)
      mask[at % height * width + at / height] = i % 2 == 1 ? 7 : 0;
  return mask;
}

TEST(CocoMasks, AreDrawnAsPycocotoolsDrawsThem) {
  const json told =
      json::parse(read_file(std::string(STOKER_SOURCE_DIR) + "/tests/reference/coco_masks.json", 1 << 20));
  const json& cases = told["cases"];
  EXPECT_GT(cases.size(), 10U);
  for (const json& each : cases) {
    const std::int64_t height = each["height"];
    const std::int64_t width = each["width"];
    const auto expected =
        of_runs(each["runs"], static_cast<std::size_t>(height), static_cast<std::size_t>(width));
    const json size = {height, width};
    EXPECT_EQ(drawn(coco(height, width, each["polygons"])), expected) << each.dump();
    EXPECT_EQ(drawn(coco(height, width, {{"size", size}, {"counts", each["packed"]}})), expected)
        << each.dump();
    EXPECT_EQ(drawn(coco(height, width, {{"size", size}, {"counts", each["runs"]}})), expected)
        << each.dump();
  }
}

std::string coco_refusal(const json& file) {
  return refusal([&] { CocoMasks::parse(file.dump(), "'a.json'"); });
}

// As text, because JSON values of this program cannot be so large.
TEST(CocoMasks, WithANumberThatNoTypeHoldsAreRejectedByName) {
  const json size = {4, 5};
  const std::vector<json> files{coco(4, 5, json::array({json::array({1, 1, 3, 1, 3, 3})})),
                                coco(4, 5, {{"size", size}, {"counts", {5, 15}}})};
  for (const json& file : files) {
    EXPECT_EQ(coco_refusal(file), "");
    const json numbers = file.flatten();
    for (const auto& [path, value] : numbers.items()) {
      if (!value.is_number()) continue;
      json marked = file;
      marked[json::json_pointer(path)] = "HERE";
      const std::string text = marked.dump();
      const std::size_t at = text.find("\"HERE\"");
      for (const char* number : {"1e999", "-1e999", "1e300", "18446744073709551615", "9223372036854775807",
                                 "-9223372036854775808", "0.5", "99999999999999999999999"}) {
        std::string odd = text;
        odd.replace(at, 6, number);
        const bool is_id = path.ends_with("/id");  // any integer is one
        const std::string words = refusal([&] { CocoMasks::parse(odd, "'a.json'"); });
        if (words.empty() && (is_id || path.find("segmentation") != std::string::npos)) continue;
        EXPECT_THAT(words, HasSubstr("'a.json' does not hold annotations in COCO form"))
            << path << " " << number;
      }
    }
  }
}

TEST(CocoMasks, AreRefusedWhereARegionIsNone) {
  const auto of = [](const json& segmentation) { return coco_refusal(coco(4, 5, segmentation)); };
  EXPECT_THAT(of(json::array({json::array({1, 1, 9, 1, 3, 3})})),
              AllOf(HasSubstr("annotation 5"), HasSubstr("x = 9"), HasSubstr("5 x 4 pixels")));
  EXPECT_THAT(of(json::array({json::array({1, 1, 3, -2, 3, 3})})), HasSubstr("y = -2"));
  EXPECT_THAT(of(json::array({json::array({1, 1, 3, 3})})), HasSubstr("three corners"));
  EXPECT_THAT(of(json::array({json::array({1, 1, 3, 3, 2})})), HasSubstr("three corners"));
  EXPECT_THAT(of(json::array({json::array({1, 1, 3, 3, 2, "x"})})), HasSubstr("not a number"));
  const json size = {4, 5};
  EXPECT_THAT(of({{"size", size}, {"counts", {5, 5, 9}}}), HasSubstr("add up to 19, and its image has 20"));
  EXPECT_THAT(of({{"size", size}, {"counts", {5, 20}}}), HasSubstr("add up to more"));
  EXPECT_THAT(of({{"size", size}, {"counts", {5, -5, 20}}}), HasSubstr("length -5"));
  EXPECT_THAT(of({{"size", size}, {"counts", {9e300}}}), HasSubstr("not an integer"));
  EXPECT_THAT(of({{"size", {5, 4}}, {"counts", {20}}}), HasSubstr("[5,4]"));
  EXPECT_THAT(of({{"size", size}, {"counts", "\x01"}}), HasSubstr("cannot be unpacked"));
  EXPECT_THAT(of({{"size", size}, {"counts", "oooooooooooo"}}), HasSubstr("cannot be unpacked"));
  EXPECT_THAT(of({{"size", size}}), HasSubstr("no 'counts'"));
  EXPECT_THAT(of(17), HasSubstr("neither polygons nor run lengths"));
}

TEST(CocoMasks, AreRefusedWhereTheFileIsNone) {
  const json sound = coco(4, 5, json::array());
  EXPECT_EQ(coco_refusal(sound), "");
  EXPECT_THAT(refusal([] { CocoMasks::parse("{", "'a.json'"); }), HasSubstr("it is not JSON"));
  const auto with = [&](const char* pointer, const json& value) {
    json changed = sound;
    changed[json::json_pointer(pointer)] = value;
    return coco_refusal(changed);
  };
  EXPECT_THAT(with("/images", 3), HasSubstr("no list 'images'"));
  EXPECT_THAT(with("/images", json::array()), HasSubstr("no images"));
  EXPECT_THAT(with("/images/0/height", 0), HasSubstr("0 x 5 pixels"));
  EXPECT_THAT(with("/images/0/id", "one"), HasSubstr("no integer 'id'"));
  EXPECT_THAT(with("/images/1", sound["images"][0]), HasSubstr("image 1 appears twice"));
  EXPECT_THAT(with("/categories/0/id", 300), HasSubstr("category 300 cannot be a class"));
  EXPECT_THAT(with("/annotations/0/image_id", 9), HasSubstr("image 9, which is missing"));
  EXPECT_THAT(with("/annotations/0/category_id", 8), HasSubstr("category 8, which is missing"));
}

// Whatever the text has become: it is read or refused.
TEST(CocoMasks, AreNeverTakenOnTrust) {
  const std::string sound = coco(4, 5, {{"size", {4, 5}}, {"counts", {3, 4, 13}}}).dump();
  const std::string odd = "0129-{}[]\",:e.";
  const RandomKey key = random_key(6, Purpose::sample, 0);
  std::size_t refused = 0;
  for (std::uint32_t i = 0; i < 4000; ++i) {
    std::string text = sound;
    for (std::uint32_t change = 0; change <= i % 2; ++change)
      text[random_bits(key, 8 * i + 2 * change) % text.size()] =
          odd[random_bits(key, 8 * i + 2 * change + 1) % odd.size()];
    const std::string message = refusal([&] {
      const CocoMasks masks = CocoMasks::parse(text, "'a.json'");
      if (masks.images()[0].height * masks.images()[0].width > 10'000) return;
      std::vector<std::uint8_t> mask(
          static_cast<std::size_t>(masks.images()[0].height * masks.images()[0].width));
      masks.draw(0, mask.data());
    });
    EXPECT_THAT(message, ::testing::Not(HasSubstr("not a wrong request"))) << text;
    refused += message.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 1000U);
  EXPECT_LT(refused, 4000U);
}

class CocoOfCubes : public ::testing::Test {
 protected:
  // Two cubes of 2 x 3 pixels in files of their own.
  CocoOfCubes() {
    folder_.write("a.npy", float_cube("2, 3, 1", 6));
    folder_.write("b.npy", float_cube("2, 3, 1", 6));
    file_ = coco(2, 3, {{"size", {2, 3}}, {"counts", {1, 2, 3}}});
    file_["images"][0]["file_name"] = "images/b.png";
  }
  Table read(const std::filesystem::path& path, const Notes& notes = no_notes()) const {
    SourceConfig config = cubes_at(path);
    config.mask_path = folder_.write("marks.json", file_.dump()).string();
    const Source source = Source::open(config, ".");
    for (const std::string& warning : source.warnings()) notes(Severity::warning, warning);
    return source.read({}, notes);
  }

  TestFolder folder_;
  json file_;
};

TEST_F(CocoOfCubes, BelongToCubesByTheirFiles) {
  const Table table = read(folder_.path());
  EXPECT_THAT(masks_in(table), ElementsAre(0, 0, 0, 0, 0, 0, 0, 7, 0, 7, 0, 0));
  EXPECT_EQ(table.cubes->classes.at(7), "weed");
  EXPECT_FALSE(table.cubes->facts[0].has_mask);
}

TEST_F(CocoOfCubes, BelongToCubesOfOneFileByTheirNumbers) {
  const auto both = folder_.write("both.npy", float_cube("2, 2, 3, 1", 12));
  EXPECT_THAT(masks_in(read(both)), ElementsAre(0, 0, 0, 0, 0, 0, 0, 7, 0, 7, 0, 0));
  file_["images"][0]["id"] = 2;
  file_["annotations"][0]["image_id"] = 2;
  EXPECT_THAT(refusal([&] { read(both); }), HasSubstr("neither by file_name ('images/b.png') nor by id"));
}

// A name that is that of one cube alone does not count where the others go by their numbers.
TEST_F(CocoOfCubes, GoByNamesAltogetherOrByNumbersAltogether) {
  const auto three = folder_.write("c.npy", float_cube("3, 2, 3, 1", 18));
  file_["images"][0]["id"] = 0;
  file_["images"][0]["file_name"] = "c_1";
  file_["annotations"][0]["image_id"] = 0;
  json other = file_["images"][0];
  other["id"] = 2;
  other["file_name"] = "c.npy";
  file_["images"].push_back(other);
  const Table table = read(three);
  EXPECT_TRUE(table.cubes->facts[0].has_mask && table.cubes->facts[2].has_mask);
  EXPECT_FALSE(table.cubes->facts[1].has_mask) << "by the name of the first image";
  EXPECT_THAT(masks_in(table), ElementsAre(0, 7, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST_F(CocoOfCubes, AreRefusedWhereTwoBelongToOneCube) {
  json other = file_["images"][0];
  other["id"] = 12;
  other["file_name"] = "b.npy";
  file_["images"].push_back(other);
  EXPECT_THAT(refusal([&] { read(folder_.path()); }),
              HasSubstr("images 1 and 12 both belong to the cube 'b'"));
}

// Two characters of text each, a hundred bytes of memory each.
TEST(CocoMasks, AreRefusedBeforeTheyFillTheMemory) {
  std::string text = R"({"images": [[])";
  for (int i = 0; i < 3'000'000; ++i) text += ",[]";
  EXPECT_THAT(refusal([&] { CocoMasks::parse(text + "]}", "'a.json'"); }),
              HasSubstr("more than 3000000 lists and objects"));
}

TEST_F(CocoOfCubes, AreRefusedOfAnotherSize) {
  file_["images"][0]["height"] = 3;
  file_["images"][0]["width"] = 2;
  file_["annotations"][0]["segmentation"]["size"] = {3, 2};
  EXPECT_THAT(refusal([&] { read(folder_.path()); }),
              AllOf(HasSubstr("3 x 2 pixels"), HasSubstr("'b' has 2 x 3 pixels")));
}

TEST_F(CocoOfCubes, TellOfWhatMarksNothing) {
  file_["categories"][1]["id"] = 0;
  file_["annotations"][0]["category_id"] = 0;
  json other = file_["images"][0];
  other["id"] = 12;
  other["file_name"] = "nobody.png";
  file_["images"].push_back(other);
  HeardNotes heard;
  read(folder_.path(), heard.listener());
  EXPECT_THAT(heard.warnings, Contains(HasSubstr("1 region of category 0")));
  EXPECT_THAT(heard.warnings, Contains(HasSubstr("1 of 2 images belongs to no cube")));
}

}  // namespace
}  // namespace stoker
