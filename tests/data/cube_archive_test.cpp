#include "data/cubes/cube_archive.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/cube_fixtures.h"
#include "data/format/write_zip.h"
#include "data/format/zip.h"
#include "data/zip_fixtures.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t a_mebibyte = 1 << 20;
constexpr const char* small_header =
    "ENVI\nsamples = 2\nlines = 1\nbands = 3\nheader offset = 0\ndata type = 4\ninterleave = bip\nbyte order "
    "= 0\n";

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& each : fs::directory_iterator(folder)) names.push_back(each.path().filename().string());
  std::ranges::sort(names);
  return names;
}

// An archive, and an empty folder to unpack it into.
struct Archive {
  explicit Archive(const std::vector<Member>& members) : path(folder.write("sent", zipped(members))) {
    fs::create_directory(into);
  }
  std::string unpacked(std::uint64_t most = a_mebibyte) const {
    return unpack_cubes(path, "flights.zip", into, most);
  }
  std::string refused(std::uint64_t most = a_mebibyte) const {
    const std::string words = refusal([&] { unpacked(most); });
    EXPECT_THAT(names_in(into), IsEmpty()) << words;
    return words;
  }

  TestFolder folder;
  fs::path path;
  fs::path into = folder.path() / "into";
};

std::string refusal_of(const std::vector<Member>& members) {
  return Archive(members).refused();
}

// The directory says how much it is unpacked; the sizes are those of zeros that deflate has packed.
TEST(CubeArchive, ThatIsPackedAThousandTimesIsRejectedBeforeAnythingIsWritten) {
  std::string archive = zipped({{"zeros.npy", std::string(1'000'000, 'x')}});
  const std::string bytes = little_endian(1'000'000U, 4);
  const std::string claimed = little_endian(1'000'000'000U, 4);
  const std::size_t directory = archive.rfind("PK\x01\x02");
  archive.replace(directory + 10, 2, little_endian(8U, 2));
  archive.replace(archive.find(bytes, directory + 24), 4, claimed);
  const Archive sent(std::vector<Member>{{"none.npy", ""}});
  std::ofstream(sent.path, std::ios::binary | std::ios::trunc) << archive;
  EXPECT_THAT(sent.refused(std::uint64_t{4} << 30U), HasSubstr("more than 100 times as much"));
}

TEST(CubeArchive, IsUnpackedWithHeadersNumbersAndMarks) {
  const std::string numbers = bytes_laid(counting<float>(6));
  const Archive archive({{"flights/", ""},
                         {"flights/field.hdr", small_header},
                         {"flights/field.img", numbers},
                         {"flights/field_mask.npy", mask_file("1, 2", {0, 1})},
                         {"flights/bare.hdr", small_header},
                         {"flights/bare", numbers},
                         {"__MACOSX/flights/._field.img", "x"}});
  EXPECT_TRUE(is_cube_archive(archive.path, "flights.zip"));
  EXPECT_EQ(archive.unpacked(), "");
  EXPECT_THAT(names_in(archive.into),
              ElementsAre("bare", "bare.hdr", "field.hdr", "field.img", "field_mask.npy"));
  const Table table = read_cubes(cubes_at(archive.into));
  EXPECT_THAT(table.cubes->names, ElementsAre("bare", "field"));
  EXPECT_THAT(masks_in(table), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(values_in(table), ElementsAre(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5));
  const Archive marked({{"a.npy", float_cube("1, 2, 3", 6)}, {"marks.json", "{}"}});
  EXPECT_EQ(marked.unpacked(), "marks.json");
}

TEST(CubeArchive, IsToldFromAnArchiveOfATable) {
  const auto is_of_cubes = [](const std::vector<Member>& members) {
    return is_cube_archive(Archive(members).path, "t.zip");
  };
  EXPECT_FALSE(is_of_cubes({{"t.csv", "a\n1\n"}}));
  EXPECT_FALSE(is_of_cubes({{"t.dat", "a\n1\n"}}));
  EXPECT_FALSE(is_of_cubes({{"a.csv", "a\n1\n"}, {"b.csv", "a\n1\n"}}));
  EXPECT_FALSE(is_of_cubes({{"a.npy", "…"}}));
  EXPECT_TRUE(is_of_cubes({{"a.npy", "…"}, {"b.npy", "…"}}));
  EXPECT_TRUE(is_of_cubes({{"a.hdr", small_header}}));
  EXPECT_TRUE(is_of_cubes({{"a.img", "…"}}));
  const Archive arrays({{"cube.npy", "…"}, {"mask.npy", "…"}});
  EXPECT_TRUE(has_arrays_alone(arrays.path, "t.zip"));
  const Archive others({{"a.npy", "…"}, {"a.hdr", small_header}});
  EXPECT_FALSE(has_arrays_alone(others.path, "t.zip"));
}

TEST(CubeArchive, WithNamesThatLeadElsewhereIsRefusedWhole) {
  const Member sound{"field.npy", float_cube("1, 2, 3", 6)};
  for (const char* name : {"../x.npy", "/etc/x.npy", "a/../x.npy", "./x.npy", "a//x.npy"})
    EXPECT_THAT(refusal_of({sound, {name, "x"}}), HasSubstr("leads out of the archive's own folder")) << name;
  for (const char* name : {"a\\..\\x.npy", "C:\\x.npy", "a\nb.npy", "a\x1b[2J.npy"})
    EXPECT_THAT(refusal_of({sound, {name, "x"}}), HasSubstr("has a character")) << name;
  EXPECT_THAT(refusal_of({{"link.npy", "/etc/passwd", false, 0, 0120777}}), HasSubstr("is a link"));
  EXPECT_THAT(refusal_of({{"a/b/c.npy", "x"}}), HasSubstr("in a folder of a folder"));
  EXPECT_THAT(refusal_of({sound, {"a/c.npy", "x"}}), HasSubstr("in another folder"));
  EXPECT_THAT(refusal_of({sound, sound}), HasSubstr("twice"));
  EXPECT_THAT(refusal_of({{std::string(200, 'a') + ".npy", "x"}}), HasSubstr("longer than 150"));
}

TEST(CubeArchive, WithFilesThatBelongToNothingIsRefused) {
  EXPECT_THAT(refusal_of({{"field.img", "x"}}),
              HasSubstr("no ENVI header for 'field.img' in the archive, such as field.hdr"));
  EXPECT_THAT(refusal_of({{"a.hdr", small_header}, {"run.sh", "x"}}), HasSubstr("'run.sh' in the archive"));
  EXPECT_THAT(refusal_of({{"a.npy", "x"}, {"b.json", "{}"}, {"c.json", "{}"}}),
              HasSubstr("2 files of marks"));
  EXPECT_THAT(refusal_of({{"b.json", "{}"}}), HasSubstr("without a cube"));
  EXPECT_THAT(refusal_of({}), HasSubstr("without a cube"));
}

TEST(CubeArchive, TakesNoMoreBytesThanAreAllowedWhateverItsDirectorySays) {
  const Archive archive({{"a.npy", std::string(600, 'x')}, {"b.npy", std::string(600, 'x')}});
  EXPECT_THAT(archive.refused(1'000), HasSubstr("unpacked; at most"));
  std::string lie = zipped({{"a.npy", std::string(600, 'x')}});
  lie.replace(lie.find("PK\x01\x02") + 24, 4, little_endian(10U, 4));  // its size, in the directory
  const TestFolder folder;
  const fs::path path = folder.write("lie.zip", lie);
  const fs::path into = folder.path() / "into";
  fs::create_directory(into);
  EXPECT_THAT(refusal([&] { unpack_cubes(path, "lie.zip", into, 1'000); }), HasSubstr("damaged"));
  EXPECT_THAT(names_in(into), IsEmpty());
}

TEST(WrittenZip, HasItsFilesAsTheyAre) {
  const TestFolder folder;
  const std::string bytes("a\0b\xff", 4);
  write_zip({{"one.npy", folder.write("one", bytes)}, {"empty.txt", folder.write("two", "")}},
            folder.path() / "answer.zip");
  const auto files = zipped_files(folder.path() / "answer.zip", "answer.zip", 16);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].name, "one.npy");
  EXPECT_EQ(files[0].start, bytes);
  EXPECT_EQ(files[1].bytes, 0U);
  EXPECT_FALSE(files[0].is_link);
  // The archive is the one that another writer makes of the same files, but for their times and a flag.
  std::ifstream stream(folder.path() / "answer.zip", std::ios::binary);
  const std::string written{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(written.size(), zipped({{"one.npy", bytes}, {"empty.txt", ""}}).size());
  EXPECT_EQ(written.substr(14, 4), little_endian(crc_of(bytes), 4));
}

}  // namespace
}  // namespace stoker
