// Sources of cubes: files of every form but ENVI (envi_test.cpp), folders, lists, masks; and what becomes of
// the cubes of a table.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/cube_fixtures.h"
#include "data/format/write_zip.h"
#include "data/prepare/preparation.h"
#include "data/split/split.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string refusal_of_file(const std::string& name, const std::string& content) {
  const TestFolder folder;
  return refusal([&] { read_cubes(cubes_at(folder.write(name, content))); });
}

TEST(Cubes, OfAFolderHaveTheSameWavelengths) {
  const TestFolder folder;
  const auto write = [&](const std::string& name, const std::string& wavelengths) {
    folder.write(name + ".hdr",
                 "ENVI\nsamples = 1\nlines = 1\nbands = 2\ndata type = 1\ninterleave = bip\n"
                 "wavelength units = nm\nwavelength = {" +
                     wavelengths + "}\n");
    folder.write(name + ".img", "ab");
  };
  write("a", "400, 500");
  write("b", "400, 500.3");
  folder.write("b.cu3s", "what b was exported from");
  HeardNotes heard;
  EXPECT_THAT(read_cubes(cubes_at(folder.path()), heard.listener()).cubes->wavelengths,
              ElementsAre(400, 500));
  EXPECT_THAT(Source::open(cubes_at(folder.path()), ".").warnings(),
              ElementsAre(HasSubstr("'b.hdr' are up to 0.3 nm away from those of 'a.hdr', which are used")));
  EXPECT_THAT(heard.info, Contains(HasSubstr("1 session file of cuvis (.cu3s) is left out")));
  write("c", "420, 500");
  EXPECT_THAT(refusal([&] { read_cubes(cubes_at(folder.path())); }),
              HasSubstr("channel 1 of 'c.hdr' is at 420 nm"));
  write("b", "400, 520");
  SourceConfig config = cubes_at(folder.path());
  EXPECT_THAT(refusal([&] { read_cubes(config); }),
              HasSubstr("channel 2 of 'b.hdr' is at 520 nm, but in 'a.hdr' it is at 500 nm"));
  config.wavelengths = {1, 2};
  EXPECT_THAT(read_cubes(config).cubes->wavelengths, ElementsAre(1, 2));
}

TEST(Cubes, AreReadFromAnArrayOfOneOrSeveral) {
  const TestFolder folder;
  const Table one = read_cubes(cubes_at(folder.write("field.npy", float_cube("2, 3, 4", 24))));
  EXPECT_EQ(one.cubes->values.shape(), (Shape{1, 2, 3, 4}));
  EXPECT_EQ(values_in(one), counting<float>(24));
  EXPECT_THAT(one.cubes->names, ElementsAre("field"));
  EXPECT_THAT(one.column_names(), ElementsAre("cube", "nan_pixels", "infinite_pixels"));

  const Table several = read_cubes(cubes_at(folder.write("fields.npy", float_cube("3, 2, 2, 2", 24, 100))));
  EXPECT_EQ(several.cubes->values.shape(), (Shape{3, 2, 2, 2}));
  EXPECT_EQ(values_in(several), counting<float>(24, 100));
  EXPECT_THAT(several.cubes->names, ElementsAre("fields_0", "fields_1", "fields_2"));
  EXPECT_EQ(several.rows(), 3);
}

TEST(Cubes, AreFoundByTheDimensionsOfAnArray) {
  const TestFolder folder;
  EXPECT_EQ(Source::config_for(folder.write("a.npy", float_cube("2, 3, 4", 24)).string()).source,
            SourceKind::cubes);
  EXPECT_EQ(Source::config_for(folder.write("b.npy", float_cube("6, 4", 24)).string()).source,
            SourceKind::file);
}

TEST(Cubes, HaveNumbersOfEveryType) {
  const auto read = [](const std::string& descr, const std::string& bytes) {
    const TestFolder folder;
    return values_in(read_cubes(cubes_at(folder.write("a.npy", npy_file(descr, "1, 1, 2", bytes)))));
  };
  EXPECT_THAT(read("<f8", bytes_laid<double>({0.5, -2})), ElementsAre(0.5F, -2.0F));
  EXPECT_THAT(read("<i2", bytes_laid<std::int16_t>({-300, 7})), ElementsAre(-300.0F, 7.0F));
  EXPECT_THAT(read("<u2", bytes_laid<std::uint16_t>({65535, 7})), ElementsAre(65535.0F, 7.0F));
  EXPECT_THAT(read("<i4", bytes_laid<std::int32_t>({-70000, 7})), ElementsAre(-70000.0F, 7.0F));
  EXPECT_THAT(read("<u4", bytes_laid<std::uint32_t>({4000000000U, 7})), ElementsAre(4e9F, 7.0F));
  EXPECT_THAT(read("<i8", bytes_laid<std::int64_t>({-5, 7})), ElementsAre(-5.0F, 7.0F));
  EXPECT_THAT(read("<u8", bytes_laid<std::uint64_t>({5, 7})), ElementsAre(5.0F, 7.0F));
  EXPECT_THAT(read("|i1", bytes_laid<std::int8_t>({-5, 7})), ElementsAre(-5.0F, 7.0F));
  EXPECT_THAT(read("|u1", bytes_laid<std::uint8_t>({200, 7})), ElementsAre(200.0F, 7.0F));
  EXPECT_THAT(read("|b1", bytes_laid<std::uint8_t>({1, 0})), ElementsAre(1.0F, 0.0F));
  EXPECT_THAT(read("<f2", bytes_laid<std::uint16_t>({0x3c00, 0xc100})), ElementsAre(1.0F, -2.5F));
  EXPECT_THAT(read(">i2", std::string("\x01\x02\xff\xff", 4)), ElementsAre(258.0F, -1.0F));
  EXPECT_THAT(read(">f4", std::string("\x3f\x80\0\0\xc0\x20\0\0", 8)), ElementsAre(1.0F, -2.5F));
}

// Element (i, j, …) of an array whose columns come first is the (i + size of the first (j + …))th number.
TEST(Cubes, AreReadThoughTheirColumnsComeFirst) {
  const TestFolder folder;
  const std::string three = npy_file("<f4", "2, 3, 4", bytes_laid(counting<float>(24)), true);
  std::vector<float> expected;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) expected.push_back(static_cast<float>(i + 2 * (j + 3 * k)));
  EXPECT_EQ(values_in(read_cubes(cubes_at(folder.write("a.npy", three)))), expected);
  const std::string four = npy_file(">i2", "3, 2, 1, 2", std::string(24, '\1'), true);
  EXPECT_EQ(values_in(read_cubes(cubes_at(folder.write("b.npy", four)))), std::vector<float>(12, 257));
  std::vector<std::int16_t> counted = counting<std::int16_t>(12);
  const Table table =
      read_cubes(cubes_at(folder.write("c.npy", npy_file("<i2", "3, 2, 1, 2", bytes_laid(counted), true))));
  EXPECT_EQ(values_in(table), (std::vector<float>{0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11}));
}

TEST(Cubes, RefusesArraysThatAreNone) {
  const std::string numbers(4 * 24, '\0');
  EXPECT_THAT(refusal_of_file("a.npy", npy_file("|O", "2, 3, 4", numbers)), HasSubstr("Python objects"));
  EXPECT_THAT(refusal_of_file("a.npy", npy_file("<c8", "2, 3, 2", numbers)), HasSubstr("type '<c8'"));
  EXPECT_THAT(refusal_of_file("a.npy", npy_file("<f4", "6, 4", numbers)), HasSubstr("the shape 6 x 4"));
  EXPECT_THAT(refusal_of_file("a.npy", npy_file("<f4", "2, 0, 4", numbers)), HasSubstr("is empty"));
  EXPECT_THAT(refusal_of_file("a.npy", npy_file("<f4", "2, 3, 5", numbers)), HasSubstr("cut off"));
  EXPECT_THAT(refusal_of_file("a.npy", npy_file("<f4", "4294967296, 4294967296, 4294967296", numbers)),
              HasSubstr("cut off"));
  EXPECT_THAT(refusal_of_file("a.npy", "not an array"), HasSubstr("its content is not what its name says"));
  EXPECT_THAT(refusal_of_file("a.npz", std::string("PK\x03\x04", 4) + "nothing"), HasSubstr("damaged zip"));
  EXPECT_THAT(refusal_of_file("a.h5", "\x89HDF\r\n\x1a\n and no more"), HasSubstr("damaged"));
  EXPECT_THAT(refusal_of_file("a.tif", "II*"), HasSubstr("ENVI"));
  EXPECT_THAT(refusal([] { read_cubes(cubes_at("/nowhere/a.npy")); }), HasSubstr("does not exist"));
}

TEST(Cubes, OfASessionOfCuvisAreToBeExported) {
  EXPECT_THAT(refusal_of_file("flight.cu3s", "whatever"),
              AllOf(HasSubstr("cuvis SDK"), HasSubstr("EnviExporter"), HasSubstr("np.save")));
}

TEST(Cubes, OfAFolderAreItsFilesInOrderWithTheMasksBesideThem) {
  const TestFolder folder;
  folder.write("b.npy", float_cube("1, 2, 2", 4, 10));
  folder.write("a.npy", float_cube("1, 2, 2", 4));
  folder.write("a_mask.npy", mask_file("1, 2", {0, 3}));
  folder.write("notes.md", "not a cube");
  HeardNotes heard;
  const Table table = read_cubes(cubes_at(folder.path()), heard.listener());
  EXPECT_THAT(table.cubes->names, ElementsAre("a", "b"));
  EXPECT_THAT(values_in(table), ElementsAre(0, 1, 2, 3, 10, 11, 12, 13));
  EXPECT_THAT(masks_in(table), ElementsAre(0, 3, 0, 0));
  EXPECT_THAT(table.column_names(), ElementsAre("cube", "masked_pixels", "nan_pixels", "infinite_pixels"));
  const auto rows = preview(table).first_rows;
  EXPECT_THAT(rows, ElementsAre(ElementsAre("a", "1", "0", "0"), ElementsAre("b", "", "0", "0")));
  EXPECT_THAT(heard.warnings, ElementsAre(HasSubstr("1 of 2 cubes has no mask")));
  EXPECT_THAT(refusal([] {
                const TestFolder empty;
                read_cubes(cubes_at(empty.path()));
              }),
              HasSubstr("has no cubes in it"));
}

TEST(Cubes, OfAListAreThoseThatItNamesInItsOrder) {
  const TestFolder folder;
  folder.write("a.npy", float_cube("1, 2, 1", 2));
  folder.write("b.npy", float_cube("1, 2, 1", 2, 10));
  folder.write("m.npy", mask_file("1, 2", {1, 0}));
  const Table table =
      read_cubes(cubes_at(folder.write("list.csv", "cube,mask\n# first\nb.npy,m.npy\n\na.npy\n")));
  EXPECT_THAT(table.cubes->names, ElementsAre("b", "a"));
  EXPECT_THAT(masks_in(table), ElementsAre(1, 0, 0, 0));
}

// As those of a folder do.
TEST(Cubes, OfAListHaveTheMaskBesideThemUnlessTheirLineNamesAnother) {
  const TestFolder folder;
  folder.write("a.npy", float_cube("1, 2, 1", 2));
  folder.write("a_mask.npy", mask_file("1, 2", {0, 1}));
  folder.write("b.npy", float_cube("1, 2, 1", 2, 10));
  folder.write("b_mask.npy", mask_file("1, 2", {1, 1}));
  folder.write("m.npy", mask_file("1, 2", {1, 0}));
  const Table table = read_cubes(cubes_at(folder.write("list.csv", "a.npy\nb.npy,m.npy\n")));
  EXPECT_THAT(masks_in(table), ElementsAre(0, 1, 1, 0));
}

TEST(Cubes, MaskBesideACubeOfAListThatIsALinkOutOfItsFolderIsRejected) {
  const TestFolder folder;
  std::filesystem::create_directory(folder.path() / "in");
  folder.write("in/a.npy", float_cube("1, 2, 1", 2));
  folder.write("secret.npy", mask_file("1, 2", {0, 1}));
  std::filesystem::create_symlink(folder.path() / "secret.npy", folder.path() / "in/a_mask.npy");
  EXPECT_THAT(refusal([&] { read_cubes(cubes_at(folder.write("in/list.csv", "a.npy\n"))); }),
              HasSubstr("a link out of the folder of the list"));
}

TEST(Cubes, OfAListLieInItsFolder) {
  const TestFolder folder;
  std::filesystem::create_directory(folder.path() / "in");
  folder.write("a.npy", float_cube("1, 2, 1", 2));
  folder.write("in/b.npy", float_cube("1, 2, 1", 2));
  std::filesystem::create_symlink(folder.path() / "a.npy", folder.path() / "in/link.npy");
  const auto refused = [&](const std::string& line) {
    return refusal([&] { read_cubes(cubes_at(folder.write("in/list.txt", line))); });
  };
  EXPECT_EQ(refused("b.npy\n"), "");
  EXPECT_THAT(refused("../a.npy\n"), AllOf(HasSubstr("line 1"), HasSubstr("outside the folder")));
  EXPECT_THAT(refused("b.npy,../a.npy\n"), HasSubstr("outside the folder"));
  EXPECT_THAT(refused((folder.path() / "a.npy").string() + "\n"), HasSubstr("outside the folder"));
  EXPECT_THAT(refused("link.npy\n"), HasSubstr("outside the folder"));
  EXPECT_THAT(refused("b.npy\n\nmissing.npy\n"), AllOf(HasSubstr("line 3"), HasSubstr("does not exist")));
  EXPECT_THAT(refused("# nothing\n"), HasSubstr("lists no cubes"));
  EXPECT_THAT(refused(std::string(5000, 'x') + ".npy\n"),
              AllOf(HasSubstr("line 1"), HasSubstr("cannot be opened")));
  EXPECT_THAT(refused("b.npy,c.npy,d.npy\n"), HasSubstr("at most one mask"));
}

TEST(Cubes, OfOneSourceHaveOneSize) {
  const TestFolder folder;
  folder.write("a.npy", float_cube("2, 3, 4", 24));
  folder.write("b.npy", float_cube("2, 3, 3", 18));
  EXPECT_THAT(refusal([&] { read_cubes(cubes_at(folder.path())); }),
              AllOf(HasSubstr("'b.npy' has 3 channels"), HasSubstr("'a.npy' has 4 channels")));
  folder.write("b.npy", float_cube("3, 2, 4", 24));
  EXPECT_THAT(refusal([&] { read_cubes(cubes_at(folder.path())); }),
              AllOf(HasSubstr("3 x 2 pixels"), HasSubstr("2 x 3 pixels")));
}

TEST(Cubes, HaveMasksOfTheirSizeAndOfClasses) {
  const TestFolder folder;
  SourceConfig config = cubes_at(folder.write("a.npy", float_cube("2, 2, 2, 3", 24)));
  const auto with_mask = [&](const std::string& mask) {
    config.mask_path = folder.write("marks.npy", mask).string();
    return read_cubes(config);
  };
  EXPECT_THAT(masks_in(with_mask(mask_file("2, 2, 2", {0, 1, 2, 3, 4, 5, 6, 255}))),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 255));
  EXPECT_THAT(masks_in(with_mask(mask_file("2, 2, 2, 1", {0, 1, 2, 3, 4, 5, 6, 7}))), SizeIs(8));
  EXPECT_THAT(masks_in(with_mask(npy_file("|b1", "2, 2, 2", std::string(8, '\1')))), Contains(1).Times(8));
  const auto refused = [&](const std::string& mask) { return refusal([&] { with_mask(mask); }); };
  EXPECT_THAT(refused(mask_file("2, 2, 3", std::vector<std::uint8_t>(12))),
              AllOf(HasSubstr("2 x 2 x 3"), HasSubstr("2 cubes of 2 x 2 pixels")));
  EXPECT_THAT(refused(mask_file("2, 2", std::vector<std::uint8_t>(4))), HasSubstr("2 cubes of 2 x 2 pixels"));
  EXPECT_THAT(refused(npy_file("<i2", "2, 2, 2", bytes_laid(counting<std::int16_t>(8, 250)))),
              HasSubstr("value 256"));
  EXPECT_THAT(refused(npy_file("<f4", "2, 2, 2", bytes_laid(std::vector<float>(8, 0.5F)))),
              HasSubstr("value 0.5"));
}

TEST(Cubes, TakeMasksFromAFolderByTheirNames) {
  const TestFolder folder;
  std::filesystem::create_directory(folder.path() / "marks");
  folder.write("marks/b.npy", mask_file("1, 2", {7, 0}));
  std::filesystem::create_directory(folder.path() / "cubes");
  folder.write("cubes/a.npy", float_cube("1, 2, 3", 6));
  folder.write("cubes/b.npy", float_cube("1, 2, 3", 6));
  SourceConfig config = cubes_at(folder.path() / "cubes");
  config.mask_path = (folder.path() / "marks").string();
  EXPECT_THAT(masks_in(read_cubes(config)), ElementsAre(0, 0, 7, 0));
  config.mask_path = (folder.path() / "cubes").string();
  EXPECT_THAT(refusal([&] { read_cubes(config); }), HasSubstr("shape 1 x 2 x 3")) << "cubes are no masks";
}

TEST(Cubes, KeepAndCountWhatIsNoNumber) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinite = std::numeric_limits<float>::infinity();
  const TestFolder folder;
  const auto path = folder.write(
      "a.npy",
      npy_file("<f4", "2, 1, 3, 2", bytes_laid<float>({1, nan, nan, nan, 5, 6, -7, 8, infinite, 9, 10, 11})));
  HeardNotes heard;
  const Table table = read_cubes(cubes_at(path), heard.listener());
  EXPECT_TRUE(std::isnan(values_in(table)[1]));
  const CubesLook look = look_at(table);
  EXPECT_EQ(look.nan_pixels, 2);
  EXPECT_EQ(look.infinite_pixels, 1);
  EXPECT_EQ(look.lowest, -7);
  EXPECT_EQ(look.highest, 11);
  EXPECT_THAT(heard.warnings, ElementsAre(HasSubstr("2 pixels in 1 cube have a value that is NaN"),
                                          HasSubstr("1 pixel in 1 cube has a value that is infinite")));
  EXPECT_THAT(preview(table).first_rows,
              ElementsAre(ElementsAre("a_0", "2", "0"), ElementsAre("a_1", "0", "1")));
}

TEST(Cubes, FindTheRangeOfManyValues) {
  std::vector<float> values(3 * 37 * 5, 0.25F);
  values[200] = -3;
  values[554] = 4;
  const TestFolder folder;
  const auto path = folder.write("a.npy", npy_file("<f4", "3, 37, 5", bytes_laid(values)));
  const CubesLook look = look_at(read_cubes(cubes_at(path)));
  EXPECT_EQ(look.lowest, -3);
  EXPECT_EQ(look.highest, 4);
}

// The second cube of three channels, which is the one with marks: red is the last channel.
TEST(Cubes, AreSeenAsAPictureWithSpectra) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const TestFolder folder;
  SourceConfig config = cubes_at(folder.write(
      "a.npy", npy_file("<f4", "2, 1, 3, 3",
                        bytes_laid<float>({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 10, 1, nan, 20, 2, 8, 30}))));
  config.mask_path = folder.write("b.npy", mask_file("2, 1, 3", {0, 0, 0, 0, 0, 7})).string();
  const CubeSight sight = look_at(read_cubes(config)).sight;
  EXPECT_EQ(sight.name, "a_1");
  EXPECT_EQ(sight.side, 1);
  EXPECT_THAT(sight.channels, ElementsAre(2, 1, 0));
  EXPECT_THAT(sight.colours[0], ElementsAre(0, 255, 255)) << "2 % of three pixels are above the second";
  EXPECT_EQ(sight.colours[1][1], 0) << "no number is dark";
  EXPECT_THAT(sight.mask, ElementsAre(0, 0, 7));
  ASSERT_EQ(sight.spectra.size(), 2U);
  EXPECT_EQ(sight.spectra[0].pixels, 2);
  EXPECT_THAT(sight.spectra[0].mean, ElementsAre(0.5F, 4, 15)) << "of finite values";
  EXPECT_EQ(sight.spectra[1].pixel_class, 7);
  EXPECT_THAT(sight.spectra[1].mean, ElementsAre(2, 8, 30));
}

TEST(Cubes, AreSeenSmallWhereTheyAreLarge) {
  std::vector<float> values(130 * 70, 1);
  for (std::size_t x = 60; x < 70; ++x)
    for (std::size_t y = 0; y < 130; ++y) values[y * 70 + x] = 5;
  const TestFolder folder;
  const auto path = folder.write("a.npy", npy_file("<f4", "1, 130, 70, 1", bytes_laid(values)));
  const CubeSight sight = look_at(read_cubes(cubes_at(path))).sight;
  EXPECT_EQ(sight.side, 3);
  EXPECT_EQ(sight.height, 44);
  EXPECT_EQ(sight.width, 24);
  ASSERT_EQ(sight.colours[0].size(), 44U * 24);
  EXPECT_EQ(sight.colours[0][19], 0);
  EXPECT_EQ(sight.colours[0][20], 255);
  EXPECT_EQ(sight.colours[0][23], 255) << "the last pixel stands for less of the cube";
  EXPECT_THAT(sight.mask, IsEmpty());
}

TEST(Cubes, HaveTheWavelengthsThatAreSet) {
  const TestFolder folder;
  SourceConfig config = cubes_at(folder.write("a.npy", float_cube("1, 2, 3", 6)));
  EXPECT_THAT(read_cubes(config).cubes->wavelengths, IsEmpty());
  config.wavelengths = {450, 550.5, 650};
  EXPECT_THAT(read_cubes(config).cubes->wavelengths, ElementsAre(450, 550.5, 650));
  config.wavelengths = {450, 550};
  EXPECT_THAT(refusal([&] { read_cubes(config); }), AllOf(HasSubstr("2 numbers"), HasSubstr("3 channels")));
  config.wavelengths = {450, 550, -1};
  EXPECT_THAT(refusal([&] { read_cubes(config); }), HasSubstr("-1 is not a wavelength"));
}

TEST(Cubes, SayThatWavelengthsBesideThemDoNotFit) {
  const TestFolder folder;
  const auto cube = folder.write("cube", float_cube("1, 2, 3", 6));
  const auto look_beside = [&](const std::string& count) {
    const auto numbers = folder.write("numbers", float_cube(count + ",", std::stoul(count), 450));
    write_zip({{"cube.npy", cube}, {"wavelengths.npy", numbers}}, folder.path() / "a.npz");
    HeardNotes heard;
    read_cubes(cubes_at(folder.path() / "a.npz"), heard.listener());
    return heard.info;
  };
  EXPECT_THAT(look_beside("3"), IsEmpty());
  EXPECT_THAT(look_beside("2"),
              ElementsAre(AllOf(HasSubstr("'wavelengths' has the shape 2"), HasSubstr("3 channels"))));
}

Table four_cubes(const TestFolder& folder) {
  folder.write("f.npy", float_cube("4, 1, 2, 3", 24));
  folder.write("f_mask.npy", mask_file("4, 1, 2", {0, 0, 1, 0, 0, 1, 1, 1}));
  return read_cubes(cubes_at(folder.path() / "f.npy"));
}

TEST(Cubes, AreDividedWithTheRows) {
  const TestFolder folder;
  const Table part = take_rows(take_rows(four_cubes(folder), {3, 1, 0}), {0, 2});
  EXPECT_EQ(cube_of(part, 0), 3);
  EXPECT_EQ(cube_of(part, 1), 0);
  const CubesLook look = look_at(part);
  EXPECT_EQ(look.cubes, 2);
  EXPECT_EQ(look.highest, 23);
  EXPECT_THAT(look.pixels_of_class, ElementsAre(std::pair(1, 2)));
}

TEST(Cubes, ComeBackFromTheCacheWithTheirRows) {
  const TestFolder folder;
  const Table whole = four_cubes(folder);
  const TestFolder kept;
  write_arrow(take_rows(whole, {2, 0}), kept.path() / "first.arrow");
  const Table first = open_arrow(kept.path() / "first.arrow");
  // Another part of it has the same file.
  write_arrow(take_rows(first, {1}), kept.path() / "second.arrow");
  const Table second = open_arrow(kept.path() / "second.arrow");
  EXPECT_EQ(std::filesystem::hard_link_count(kept.path() / "second.cubes.npy"), 2);
  for (const Table* each : {&first, &second}) {
    EXPECT_EQ(values_in(*each), values_in(whole));
    EXPECT_EQ(masks_in(*each), masks_in(whole));
    EXPECT_EQ(each->cubes->names, whole.cubes->names);
  }
  EXPECT_EQ(cube_of(first, 0), 2);
  EXPECT_EQ(cube_of(second, 0), 0);
  EXPECT_EQ(first.cubes->facts[3].masked_pixels, 2);
}

TEST(Cubes, ThatAreDamagedInTheCacheAreRefused) {
  const TestFolder folder;
  const TestFolder kept;
  const auto file = kept.path() / "a.arrow";
  write_arrow(four_cubes(folder), file);
  std::filesystem::resize_file(kept.path() / "a.cubes.npy", 150);
  EXPECT_THAT(refusal([&] { open_arrow(file); }), HasSubstr("cut off"));
  kept.write("a.cubes.npy", float_cube("3, 1, 2, 3", 18));
  EXPECT_THAT(refusal([&] { open_arrow(file); }), HasSubstr("do not match"));
  kept.write("a.cubes.json", "{}");
  EXPECT_THAT(refusal([&] { open_arrow(file); }), HasSubstr("damaged"));
}

TEST(Cubes, AreNoTable) {
  const TestFolder folder;
  const Table table = four_cubes(folder);
  PreparationConfig preparation;
  preparation.target_column = "masked_pixels";
  EXPECT_THAT(refusal([&] { Preparation::fit(table, preparation, Scaling::none, no_notes()); }),
              AllOf(HasSubstr("cubes of 1 x 2 pixels with 3 channels"), HasSubstr("needs a table")));
  WindowsConfig windows;
  windows.target_column = "nan_pixels";
  EXPECT_THAT(refusal([&] { frame_series(table, windows, FramedRows::to_learn, no_notes()); }),
              HasSubstr("needs a table"));
}

TEST(Cubes, AreKnownByTheirContent) {
  const TestFolder folder;
  SourceConfig config = cubes_at(folder.write("a.npy", float_cube("1, 2, 3", 6)));
  const auto fingerprint = [&] { return Source::open(config, ".").fingerprint(); };
  const std::string first = fingerprint();
  EXPECT_EQ(fingerprint(), first);
  config.wavelengths = {1, 2, 3};
  EXPECT_NE(fingerprint(), first);
  config.wavelengths.clear();
  folder.write("a_mask.npy", mask_file("1, 2", {0, 1}));
  EXPECT_NE(fingerprint(), first);
}

}  // namespace
}  // namespace stoker
