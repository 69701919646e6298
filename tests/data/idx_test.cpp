#include <cstring>

#include <arrow/array.h>
#include <arrow/table.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/split/split.h"
#include "data/table/array_columns.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

// Laid out by the description of the format on MNIST's page (yann.lecun.com/exdb/mnist), independent of the
// reader.
std::string idx(int type, const std::vector<std::uint32_t>& sizes, const std::string& values) {
  std::string file{'\0', '\0', static_cast<char>(type), static_cast<char>(sizes.size())};
  for (const std::uint32_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(size >> shift & 0xffU);
  return file + values;
}
constexpr int unsigned_bytes = 0x08;

std::string counting(std::size_t count) {
  std::string values;
  for (std::size_t i = 0; i < count; ++i) values += static_cast<char>(i);
  return values;
}

// gzip's own program packs, so that what is unpacked comes from elsewhere.
std::string packed(const TestFolder& folder, const std::string& content) {
  const fs::path plain = folder.write("to_pack", content);
  const std::string command = "gzip -kf '" + plain.string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream stream(plain.string() + ".gz", std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(stream), {});
  fs::remove(plain);
  fs::remove(plain.string() + ".gz");
  return bytes;
}

// Three images of 2 x 2 pixels with labels, and where it is asked for two more to test with.
struct SmallImages {
  TestFolder folder;
  std::string images = idx(unsigned_bytes, {3, 2, 2}, counting(12));
  std::string labels = idx(unsigned_bytes, {3}, std::string("\5\6\7", 3));

  fs::path write() const {
    folder.write("train-labels-idx1-ubyte", labels);
    return folder.write("train-images-idx3-ubyte", images);
  }
  void write_testing() const {
    folder.write("t10k-images-idx3-ubyte", idx(unsigned_bytes, {2, 2, 2}, std::string(8, '\xff')));
    folder.write("t10k-labels-idx1-ubyte", idx(unsigned_bytes, {2}, std::string("\5\7", 2)));
  }
  std::string refusal_of_it() const {
    const fs::path path = write();
    return refusal([&] { read_source(path); });
  }
};

TEST(Idx, MakesAColumnOfEveryPixelAndOneOfTheLabels) {
  const SmallImages small;
  const Table table = read_source(small.write());
  EXPECT_THAT(table.column_names(), ElementsAre("pixel_0_0", "pixel_0_1", "pixel_1_0", "pixel_1_1", "label"));
  EXPECT_THAT(preview(table).first_rows,
              ElementsAre(ElementsAre("0", "1", "2", "3", "5"), ElementsAre("4", "5", "6", "7", "6"),
                          ElementsAre("8", "9", "10", "11", "7")));
  EXPECT_EQ(preview(table).columns.front().type, "uint8");
  EXPECT_TRUE(array_of_rows(table, "pixel"));
  EXPECT_FALSE(table.first_test_row);
}

TEST(Idx, HasTheRowsOfItsT10kPairBehindTheOthers) {
  const SmallImages small;
  const fs::path path = small.write();
  small.write_testing();
  HeardNotes heard;
  const Table table = Source::open(Source::config_for(path.string()), ".").read({}, heard.listener());
  EXPECT_EQ(table.rows(), 5);
  EXPECT_EQ(table.first_test_row, 3);
  EXPECT_EQ(preview(table).first_rows[3], (std::vector<std::string>{"255", "255", "255", "255", "5"}));
  EXPECT_THAT(heard.info, Contains(AllOf(HasSubstr("t10k-images-idx3-ubyte"), HasSubstr("2 rows"))));
  const SplitRows parts = split_rows(table, {});
  EXPECT_THAT(parts.first, ElementsAre(0, 1, 2));
  EXPECT_THAT(parts.second, ElementsAre(3, 4));
}

TEST(Idx, FindsItsOthersPackedOrNotAndUnderBothSpellings) {
  const SmallImages small;
  small.folder.write("train-labels-idx1-ubyte.gz", packed(small.folder, small.labels));
  small.folder.write("test-images.idx3-ubyte", idx(unsigned_bytes, {1, 2, 2}, counting(4)));
  small.folder.write("test-labels.idx1-ubyte", idx(unsigned_bytes, {1}, "\5"));
  const Table table =
      read_source(small.folder.write("train-images.idx3-ubyte.gz", packed(small.folder, small.images)));
  EXPECT_EQ(table.rows(), 4);
  EXPECT_EQ(table.first_test_row, 3);
  EXPECT_EQ(preview(table).first_rows[2], (std::vector<std::string>{"8", "9", "10", "11", "7"}));
}

TEST(Idx, IsAnotherSourceOnceOneOfItsFilesIs) {
  const SmallImages small;
  const auto fingerprint = [&] {
    return Source::open(Source::config_for((small.folder.path() / "train-images-idx3-ubyte").string()), ".")
        .fingerprint();
  };
  small.write();
  const std::string alone = fingerprint();
  EXPECT_EQ(fingerprint(), alone);
  small.folder.write("train-labels-idx1-ubyte", idx(unsigned_bytes, {3}, std::string("\5\6\6", 3)));
  const std::string labelled_otherwise = fingerprint();
  EXPECT_NE(labelled_otherwise, alone);
  small.write_testing();
  EXPECT_NE(fingerprint(), labelled_otherwise);
}

TEST(Idx, ReadsEveryTypeOfNumber) {
  const auto first = [](int type, const std::string& number) {
    const TestFolder folder;
    folder.write("some-labels-idx1-ubyte", idx(unsigned_bytes, {1}, "\1"));
    return preview(read_source(folder.write("some-images-idx2-float", idx(type, {1, 1}, number))))
        .first_rows[0][0];
  };
  EXPECT_EQ(first(0x09, "\xfe"), "-2");
  EXPECT_EQ(first(0x0b, "\xff\xfe"), "-2");
  EXPECT_EQ(first(0x0c, std::string("\0\1\0\2", 4)), "65538");
  EXPECT_EQ(first(0x0d, std::string("\x3f\xc0\0\0", 4)), "1.5");
  EXPECT_EQ(first(0x0e, std::string("\xbf\xf8\0\0\0\0\0\0", 8)), "-1.5");
}

TEST(Idx, RefusesADamagedHeader) {
  SmallImages small;
  small.images[1] = '\1';
  EXPECT_THAT(small.refusal_of_it(), AllOf(HasSubstr("not in IDX form"), HasSubstr("00 01 08 03")));
  small.images[1] = '\0';
  small.images[2] = '\x0a';
  EXPECT_THAT(small.refusal_of_it(), HasSubstr("not in IDX form"));
  small.images[2] = '\x08';
  small.images[3] = '\x09';
  EXPECT_THAT(small.refusal_of_it(), HasSubstr("9 dimensions"));
  small.images.resize(9);
  small.images[3] = '\3';
  EXPECT_THAT(small.refusal_of_it(), HasSubstr("ends inside its header"));
}

TEST(Idx, RefusesTheWrongNumberOfDimensions) {
  SmallImages small;
  small.images = idx(unsigned_bytes, {12}, counting(12));
  EXPECT_THAT(small.refusal_of_it(), HasSubstr("one dimension"));
  small.images = idx(unsigned_bytes, {3, 2, 2}, counting(12));
  small.labels = idx(unsigned_bytes, {3, 1}, counting(3));
  EXPECT_THAT(small.refusal_of_it(), AllOf(HasSubstr("labels"), HasSubstr("2 dimensions")));
}

TEST(Idx, RefusesAFileThatIsNotAsLongAsItsHeaderSays) {
  SmallImages small;
  small.images.pop_back();
  EXPECT_THAT(small.refusal_of_it(), AllOf(HasSubstr("cut off"), HasSubstr("3 x 2 x 2")));
  small.images += "xy";
  EXPECT_THAT(small.refusal_of_it(), HasSubstr("goes on behind"));
}

TEST(Idx, RefusesLabelsThatAreMissingOrOfAnotherNumber) {
  SmallImages small;
  const fs::path path = small.folder.write("train-images-idx3-ubyte", small.images);
  EXPECT_THAT(refusal([&] { read_source(path); }),
              AllOf(HasSubstr("are missing"), HasSubstr("train-labels-idx1-ubyte")));
  small.labels = idx(unsigned_bytes, {2}, counting(2));
  EXPECT_THAT(small.refusal_of_it(), AllOf(HasSubstr("2 labels"), HasSubstr("3 images")));
  EXPECT_THAT(refusal([&] { read_source(small.folder.path() / "train-labels-idx1-ubyte"); }),
              HasSubstr("the file of their images"));
  EXPECT_THAT(refusal([&] { read_source(small.folder.write("train-idx3-ubyte", small.images)); }),
              HasSubstr("the word images"));
}

TEST(Idx, RefusesATestPairThatIsHalfThereOrDoesNotFit) {
  const SmallImages small;
  const fs::path path = small.write();
  small.folder.write("t10k-images-idx3-ubyte", idx(unsigned_bytes, {2, 1, 2}, counting(4)));
  EXPECT_THAT(refusal([&] { read_source(path); }), HasSubstr("t10k-labels-idx1-ubyte"));
  small.folder.write("t10k-labels-idx1-ubyte", idx(unsigned_bytes, {2}, counting(2)));
  EXPECT_THAT(refusal([&] { read_source(path); }), HasSubstr("do not match"));
}

TEST(Idx, RefusesSizesBeyondAllReason) {
  SmallImages small;
  small.images = idx(unsigned_bytes, {3, 0xffffffffU, 0xffffffffU}, counting(12));
  EXPECT_THAT(small.refusal_of_it(), HasSubstr("1,000,000 values in a row"));
  small.images = idx(unsigned_bytes, {0xffffffffU, 2, 2}, counting(12));
  EXPECT_THAT(small.refusal_of_it(), HasSubstr("cut off"));
  small.images = idx(unsigned_bytes, {0, 2, 2}, "");
  EXPECT_THAT(small.refusal_of_it(), HasSubstr("is empty"));
}

TEST(Idx, RefusesAPackedFileThatIsCutOffOrHoldsMoreOrLessThanItSays) {
  const SmallImages small;
  small.write();
  const auto refusal_of_packed = [&](const std::string& bytes) {
    const fs::path path = small.folder.write("train-images-idx3-ubyte.gz", bytes);
    return refusal([&] { read_source(path); });
  };
  const std::string whole = packed(small.folder, idx(unsigned_bytes, {3, 20, 20}, counting(1200)));
  EXPECT_EQ(refusal_of_packed(whole), "");
  EXPECT_THAT(refusal_of_packed(whole.substr(0, whole.size() / 2)), HasSubstr("cut off"));
  EXPECT_THAT(refusal_of_packed(whole.substr(0, whole.size() - 6)), HasSubstr("cut off"));
  std::string damaged = whole;
  damaged[damaged.size() - 7] ^= 1;  // its check sum
  EXPECT_THAT(refusal_of_packed(damaged), HasSubstr("is damaged"));
  EXPECT_THAT(refusal_of_packed(packed(small.folder, idx(unsigned_bytes, {3, 2, 2}, counting(11)))),
              HasSubstr("cut off"));
  // 8 MB of zeros in 8 KB, of which the header tells 12 bytes.
  const std::string bomb = packed(small.folder, idx(unsigned_bytes, {3, 2, 2}, std::string(8 << 20, '\0')));
  EXPECT_THAT(refusal_of_packed(bomb), HasSubstr("goes on behind"));
  EXPECT_THAT(refusal_of_packed(packed(small.folder, idx(unsigned_bytes, {0xffffffffU, 9, 9}, "few"))),
              HasSubstr("unpacks to"));
}

TEST(Idx, IsReadFromAFileAlone) {
  const SmallImages small;
  const fs::path path = small.write();
  SourceConfig config = Source::config_for(path.string());
  config.format = SourceFormat::csv;
  EXPECT_NE(refusal([&] { Source::open(config, ".").read(); }), "");
  const fs::path unnamed = small.folder.write("images", small.images);  // told by its first bytes
  EXPECT_THAT(refusal([&] { read_source(unnamed); }), HasSubstr("labels of"));
}

// Debian's package dataset-fashion-mnist; numbers from its own files by NumPy:
// np.frombuffer(gzip.open(f).read()[16:], np.uint8).sum(), and of the labels with [8:].
TEST(Idx, ReadsFashionMnist) {
  const fs::path path = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";
  if (!fs::exists(path)) GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  const Table table = read_source(path);
  EXPECT_EQ(table.rows(), 70'000);
  EXPECT_EQ(table.columns->num_columns(), 785);
  EXPECT_EQ(table.first_test_row, 60'000);
  const auto sum_of = [&](std::int64_t first, std::int64_t count, int begin, int end) {
    std::int64_t sum = 0;
    for (int c = begin; c < end; ++c) {
      const auto part = table.columns->column(c)->Slice(first, count);
      for (const auto& chunk : part->chunks()) {
        const auto& bytes = chunk->data()->buffers[1];
        const std::uint8_t* values = bytes->data() + chunk->offset();
        for (std::int64_t i = 0; i < chunk->length(); ++i) sum += values[i];
      }
    }
    return sum;
  };
  EXPECT_EQ(sum_of(0, 60'000, 0, 784), 3'431'114'169);
  EXPECT_EQ(sum_of(60'000, 10'000, 0, 784), 573'469'082);
  EXPECT_EQ(sum_of(0, 60'000, 784, 785), 270'000);
  EXPECT_THAT(preview(table).first_rows[0].back(), "9");
}

}  // namespace
}  // namespace stoker
