// Files are written by libhdf5 itself, by functions that the reader does not use.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include <arrow/table.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/process/cpu_limit.h"
#include "base/process/shared_library.h"
#include "data/fixtures.h"
#include "data/format/hdf5_library.h"
#include "data/format/hdf5_object.h"

namespace stoker {
namespace {

using hdf5::Id;
using hdf5::Size;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Hdf5Writer {
 public:
  explicit Hdf5Writer(const std::filesystem::path& path)
      : library_(
            {"libhdf5_serial.so.103", "libhdf5.so.103", "libhdf5.so.200", "libhdf5.so.310", "libhdf5.so"},
            "a test", "libhdf5-103-1") {
    library_.find("H5Screate_simple", space_);
    library_.find("H5Dcreate2", create_);
    library_.find("H5Dwrite", write_);
    library_.find("H5Gcreate2", group_);
    library_.find("H5Tcopy", copy_);
    library_.find("H5Tset_size", set_size_);
    library_.find("H5Pcreate", make_properties_);
    library_.find("H5Pset_external", set_external_);
    library_.find("H5Pset_virtual", set_virtual_);
    library_.find("H5Lcreate_external", link_external_);
    library_.find("H5Lcreate_soft", link_soft_);
    Id (*make)(const char*, unsigned, Id, Id) = nullptr;
    library_.find("H5Fcreate", make);
    file_ = make(path.c_str(), 2, 0, 0);  // H5F_ACC_TRUNC
  }
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;
  ~Hdf5Writer() { hdf5::library().close_file(file_); }

  Id type(const char* name) const { return *static_cast<const Id*>(library_.find_variable(name)); }
  Id text(std::size_t size) const {
    const Id made = copy_(type("H5T_C_S1_g"));
    set_size_(made, size);
    return made;
  }
  void group(const char* name) const { hdf5::library().close_object(group_(file_, name, 0, 0, 0)); }
  void add(const char* path, std::vector<Size> sizes, Id of, const void* values, Id creation = 0) const {
    const Id space = space_(static_cast<int>(sizes.size()), sizes.data(), nullptr);
    const Id dataset = create_(file_, path, of, space, 0, creation, 0);
    if (values != nullptr) write_(dataset, of, 0, 0, 0, values);
    hdf5::library().close_object(dataset);
    hdf5::library().close_space(space);
  }
  // Values are bytes of another file, from its first on.
  void add_external(const char* path, Size bytes, const std::filesystem::path& other) const {
    const Id creation = make_properties_(type("H5P_CLS_DATASET_CREATE_ID_g"));
    set_external_(creation, other.c_str(), 0, bytes);
    add(path, {bytes}, type("H5T_NATIVE_UINT8_g"), nullptr, creation);
    hdf5::library().close_properties(creation);
  }
  // Two doubles of a dataset of another file, or of this one (".").
  void add_virtual(const char* path, const char* other, const char* dataset) const {
    const Id creation = make_properties_(type("H5P_CLS_DATASET_CREATE_ID_g"));
    const std::vector<Size> sizes{2};
    const Id space = space_(1, sizes.data(), nullptr);
    set_virtual_(creation, space, other, dataset, space);
    hdf5::library().close_space(space);
    add(path, {2}, type("H5T_NATIVE_DOUBLE_g"), nullptr, creation);
    hdf5::library().close_properties(creation);
  }
  void link_external(const char* name, const std::filesystem::path& other, const char* object) const {
    link_external_(other.c_str(), object, file_, name, 0, 0);
  }
  void link_soft(const char* name, const char* target) const { link_soft_(target, file_, name, 0, 0); }

 private:
  SharedLibrary library_;
  Id (*make_properties_)(Id) = nullptr;
  int (*set_external_)(Id, const char*, std::int64_t, Size) = nullptr;
  int (*set_virtual_)(Id, Id, const char*, const char*, Id) = nullptr;
  int (*link_external_)(const char*, const char*, Id, const char*, Id, Id) = nullptr;
  int (*link_soft_)(const char*, Id, const char*, Id, Id) = nullptr;
  Id (*space_)(int, const Size*, const Size*) = nullptr;
  Id (*create_)(Id, const char*, Id, Id, Id, Id, Id) = nullptr;
  int (*write_)(Id, Id, Id, Id, Id, const void*) = nullptr;
  Id (*group_)(Id, const char*, Id, Id, Id) = nullptr;
  Id (*copy_)(Id) = nullptr;
  int (*set_size_)(Id, std::size_t) = nullptr;
  Id file_ = -1;
};

class Hdf5 : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      hdf5::library();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  SourceConfig config(std::vector<std::string> datasets = {}) const {
    SourceConfig made = Source::config_for(file().string());
    made.datasets = std::move(datasets);
    return made;
  }
  std::filesystem::path file() const { return folder_.path() / "rows.h5"; }
  std::string refusal_of(std::vector<std::string> datasets = {}) const {
    return refusal([&] { Source::open(config(std::move(datasets)), ".").read(); });
  }

 private:
  TestFolder folder_;
};

TEST_F(Hdf5, MakesAColumnOfEachDataset) {
  {
    const Hdf5Writer writer(file());
    const std::vector<float> x{1, 2, 3, 4, 5, 6};
    const std::vector<std::uint32_t> y{7, 4'000'000'000};
    const std::vector<double> z{0.1, -2};
    const std::vector<const char*> long_texts{"first", "second"};
    writer.add("x", {2, 3}, writer.type("H5T_NATIVE_FLOAT_g"), x.data());
    writer.add("y", {2}, writer.type("H5T_NATIVE_UINT32_g"), y.data());
    writer.group("more");
    writer.add("more/z", {2}, writer.type("H5T_IEEE_F64LE_g"), z.data());
    writer.add("more/name", {2}, writer.text(4), "abc\0abcd");
    writer.add("more/words", {2}, writer.text(static_cast<std::size_t>(-1)), long_texts.data());
  }
  EXPECT_EQ(config().source, SourceKind::hdf5);
  SourceConfig plain = config();
  plain.source = SourceKind::file;
  EXPECT_THAT(refusal([&] { Source::open(plain, "."); }), HasSubstr("set source to hdf5"));
  const Table root = Source::open(config(), ".").read();
  EXPECT_THAT(root.column_names(), ElementsAre("x_0", "x_1", "x_2", "y"));
  EXPECT_THAT(preview(root).first_rows[1], ElementsAre("4", "5", "6", "4000000000"));
  const Table named = Source::open(config({"/more/z", "more/name", "more/words", "y"}), ".").read();
  EXPECT_THAT(named.column_names(), ElementsAre("z", "name", "words", "y"));
  EXPECT_THAT(preview(named).first_rows[0], ElementsAre("0.1", "abc", "first", "7"));
  EXPECT_THAT(preview(named).first_rows[1], ElementsAre("-2", "abcd", "second", "4000000000"));
}

TEST_F(Hdf5, RefusesWhatMakesNoTable) {
  {
    const Hdf5Writer writer(file());
    const std::vector<double> numbers(6, 1.0);
    const std::vector<std::uint64_t> large{~std::uint64_t{0}};
    writer.add("two", {2}, writer.type("H5T_NATIVE_DOUBLE_g"), numbers.data());
    writer.add("three", {3}, writer.type("H5T_NATIVE_DOUBLE_g"), numbers.data());
    writer.add("one", {}, writer.type("H5T_NATIVE_DOUBLE_g"), numbers.data());
    writer.add("none", {0}, writer.type("H5T_NATIVE_DOUBLE_g"), nullptr);
    writer.add("large", {1}, writer.type("H5T_NATIVE_UINT64_g"), large.data());
    writer.add("promise", {1U << 30U, 4096}, writer.type("H5T_NATIVE_DOUBLE_g"), nullptr);
    writer.group("group");
  }
  EXPECT_THAT(refusal_of({"two", "three"}),
              AllOf(HasSubstr("'three' has 3 rows"), HasSubstr("'two' has 2 rows")));
  EXPECT_THAT(refusal_of({"nothing"}), HasSubstr("no dataset 'nothing'"));
  EXPECT_THAT(refusal_of({"group"}), HasSubstr("no dataset 'group'"));
  EXPECT_THAT(refusal_of({"one"}), HasSubstr("0 dimensions"));
  EXPECT_THAT(refusal_of({"none"}), HasSubstr("is empty"));
  EXPECT_THAT(refusal_of({"large"}), HasSubstr("above 9223372036854775806"));
  EXPECT_THAT(refusal_of({"promise"}), HasSubstr("times the file"));
  EXPECT_THAT(refusal_of({"/"}), HasSubstr("not the path of a dataset"));
  std::filesystem::resize_file(file(), 100);
  EXPECT_THAT(refusal_of({"two"}), HasSubstr("is damaged"));
}

// The first object in the heap of texts has the size 0 then, so libhdf5 1.10 looks for its end for ever.
void make_endless(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  constexpr std::size_t size_of_heap_header = 16;
  constexpr std::size_t size_of_object_header = 16;
  bytes.replace(bytes.find("GCOL") + size_of_heap_header, size_of_object_header, size_of_object_header, '\0');
  std::ofstream(file, std::ios::binary) << bytes;
}

TEST_F(Hdf5, EndlessFileEndsTheProgramWithItsName) {
  {
    const Hdf5Writer writer(file());
    const std::vector<const char*> texts{"first", "second"};
    writer.add("words", {2}, writer.text(static_cast<std::size_t>(-1)), texts.data());
  }
  make_endless(file());
  const auto read_as_the_program_does = [&] {
    ::setenv(hdf5::cpu_seconds_variable, "0.1", 1);
    explain_cpu_limits();
    // A later libhdf5 may find the damage.
    std::fputs(refusal_of().c_str(), stderr);
    std::_Exit(2);
  };
  EXPECT_EXIT(read_as_the_program_does(), ::testing::ExitedWithCode(2), "rows.h5.*damaged");
}

// The first bound has a client's file of 1 GB keep a core busy for minutes, not for hours; the second is 20
// times what libhdf5 takes for real files of 20 MB in chunks of one value (0.14 s for each MB).
TEST(Hdf5Limit, IsFarAboveRealFilesAndEndsLargeEndlessOnes) {
  const TestFolder folder;
  const auto seconds_of = [&](std::uintmax_t megabytes) {
    const auto file = folder.write("sparse.h5", "");
    std::filesystem::resize_file(file, megabytes * 1'000'000);
    return hdf5::cpu_seconds_for(file);
  };
  EXPECT_LE(seconds_of(1000), 20 * 60);
  EXPECT_GE(seconds_of(20), 20 * 20 * 0.14);
}

// A file that anybody may write must not show what its reader may read.
class Hdf5OfOtherFiles : public Hdf5 {
 protected:
  void SetUp() override {
    Hdf5::SetUp();
    if (IsSkipped()) return;
    const std::vector<double> two{41, 42};
    Hdf5Writer(other_).add("two", {2}, Hdf5Writer(folder_.path() / "types.h5").type("H5T_NATIVE_DOUBLE_g"),
                           two.data());
    const Hdf5Writer writer(file());
    writer.add("own", {2}, writer.type("H5T_NATIVE_DOUBLE_g"), two.data());
    writer.group("inner");
    writer.add_external("inner/external", 2, other_);
    writer.add_virtual("inner/virtual", other_.c_str(), "two");
    writer.add_virtual("own_virtual", ".", "own");
    writer.link_external("inner/link", other_, "two");
    writer.link_external("inner/folder", other_, "/");
    writer.link_soft("inner/detour", "/inner/folder/two");
  }
  Table read(const std::string& dataset, bool follow) const {
    SourceConfig source = config({dataset});
    source.follow_external = follow;
    return Source::open(source, ".").read();
  }

  TestFolder folder_;
  std::filesystem::path other_ = folder_.path() / "other.h5";
};

TEST_F(Hdf5OfOtherFiles, ValuesOfOtherFilesAreRejected) {
  for (const char* path :
       {"inner/external", "inner/virtual", "inner/link", "inner/folder/two", "inner/detour"})
    EXPECT_THAT(refusal_of({path}),
                AllOf(HasSubstr(path), HasSubstr("from another file"), ::testing::Not(HasSubstr("''"))))
        << path;
}

TEST_F(Hdf5OfOtherFiles, VirtualDatasetOfTheSameFileIsRead) {
  EXPECT_THAT(preview(read("own_virtual", false)).first_rows[1], ElementsAre("42"));
}

TEST_F(Hdf5OfOtherFiles, LinkAmongTheDatasetsOfTheRootIsRejected) {
  {
    const Hdf5Writer writer(file());
    const std::vector<double> two{1, 2};
    writer.add("own", {2}, writer.type("H5T_NATIVE_DOUBLE_g"), two.data());
    writer.link_external("link", other_, "two");
  }
  EXPECT_THAT(refusal_of(), HasSubstr("an external link"));
  EXPECT_THAT(preview(read("own", false)).first_rows[0], ElementsAre("1"));
}

TEST_F(Hdf5OfOtherFiles, ValuesOfOtherFilesAreReadIfTheSettingAllowsIt) {
  for (const char* path : {"inner/virtual", "inner/link", "inner/detour"})
    EXPECT_THAT(preview(read(path, true)).first_rows[1], ElementsAre("42")) << path;
  EXPECT_EQ(read("inner/external", true).rows(), 2);
}

// Arrays of cubes are read by other functions than tables.
TEST_F(Hdf5OfOtherFiles, CubesOfOtherFilesAreRejected) {
  {
    const Hdf5Writer writer(file());
    writer.add_external("cubes", 48, other_);
    writer.link_external("link", other_, "two");
  }
  SourceConfig source = config();
  source.source = SourceKind::cubes;
  for (const char* key : {"cubes", "link"}) {
    source.cube_key = key;
    EXPECT_THAT(refusal([&] { Source::open(source, ".").read(); }),
                AllOf(HasSubstr("from another file"), ::testing::Not(HasSubstr("''"))))
        << key;
  }
}

}  // namespace
}  // namespace stoker
