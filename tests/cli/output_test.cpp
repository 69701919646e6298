// Places that cannot be written: one clear error, nothing half-written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "cli/program.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A file system of one megabyte; not every machine lets a test make one.
class SmallFileSystem {
 public:
  explicit SmallFileSystem(const fs::path& folder) : folder_(folder) {
    fs::create_directory(folder_);
    mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=1m") == 0;
  }
  ~SmallFileSystem() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }

 private:
  fs::path folder_;
  bool mounted_ = false;
};

TEST(Output, BelowAFileIsRefused) {
  const Workplace place;
  place.write("houses.csv", small_table(40));
  place.write("pipeline.yaml", ridge_document());
  const Finished finished = place.stoker({"run", "pipeline.yaml", "--out", "houses.csv/runs"});
  EXPECT_EQ(finished.code, 2) << finished.errors;
  EXPECT_THAT(finished.errors, HasSubstr("houses.csv/runs"));
  EXPECT_EQ(place.stoker({"run", "pipeline.yaml", "--out", "/dev/null/runs"}).code, 2);
}

TEST(Output, PredictionsToAFolderThatIsNotThereAreRefused) {
  const Workplace place;
  place.write("houses.csv", small_table(40));
  place.write("pipeline.yaml", ridge_document());
  ASSERT_EQ(place.stoker({"run", "pipeline.yaml", "--quiet"}).code, 0);
  const Finished finished = place.stoker({"predict", "latest", "houses.csv", "--output", "/dev/null/p.csv"});
  EXPECT_EQ(finished.code, 2) << finished.errors;
  EXPECT_THAT(finished.errors, HasSubstr("/dev/null/p.csv"));
}

TEST(Output, OfAQuietRunStillNotesWhatWasFilledIn) {
  const Workplace place;
  std::string table = small_table(60);
  for (int i = 0; i < 20; ++i) table += ",2,flat,1.5\n";
  place.write("houses.csv", table);
  place.write("pipeline.yaml", ridge_document());
  const Finished finished = place.stoker({"run", "pipeline.yaml", "--quiet"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  EXPECT_THAT(finished.errors, testing::Not(HasSubstr("filled with")));
  EXPECT_THAT(place.stoker({"runs", "show", "latest"}).output, HasSubstr("note: column 'a'"));
}

TEST(Output, AFullFileSystemIsOneErrorAndNothingHalfWritten) {
  const Workplace place;
  place.write("pipeline.yaml", ridge_document());
  place.write("houses.csv", small_table(60'000));  // its parts in the cache are larger than the file system
  const fs::path small = place.folder() / "small";
  const SmallFileSystem file_system(small);
  if (!file_system.mounted()) GTEST_SKIP() << "a file system may not be mounted here";
  const Finished finished = place.stoker({"run", "pipeline.yaml", "--out", "small/runs"});
  EXPECT_EQ(finished.code, 2) << finished.errors;
  EXPECT_THAT(finished.errors, HasSubstr("No space left"));
  EXPECT_EQ(finished.output, "");
  for (const std::string& file : files_below(small)) {
    EXPECT_THAT(file, testing::Not(HasSubstr("model"))) << file;
    EXPECT_THAT(file, testing::Not(HasSubstr("partial"))) << file;
  }
}

TEST(Output, PredictionsThatDoNotFitLeaveNoFile) {
  const Workplace place;
  place.write("houses.csv", small_table(40));
  place.write("many.csv", small_table(100'000));
  place.write("pipeline.yaml", ridge_document());
  ASSERT_EQ(place.stoker({"run", "pipeline.yaml", "--quiet"}).code, 0);
  const SmallFileSystem file_system(place.folder() / "small");
  if (!file_system.mounted()) GTEST_SKIP() << "a file system may not be mounted here";
  const Finished finished =
      place.stoker({"predict", "latest", "many.csv", "--include-features", "--output", "small/p.csv"});
  EXPECT_EQ(finished.code, 2) << finished.errors;
  EXPECT_THAT(finished.errors, HasSubstr("No space left"));
  EXPECT_THAT(files_below(place.folder() / "small"), testing::IsEmpty());
}

}  // namespace
}  // namespace stoker::test
