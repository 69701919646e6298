#include "model/safetensors.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/no_descriptors.h"
#include "model/fixtures.h"

namespace stoker {
namespace {

using ::testing::HasSubstr;

template <class T>
Array array_of(std::vector<T> values, Shape shape) {
  return Array::from<T>(std::span<const T>(values), std::move(shape));
}

class Safetensors : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }

  // A file of this header and so many bytes of data.
  std::string refusal_of(const std::string& header, std::size_t data_bytes) const {
    std::string content(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) content[i] = static_cast<char>(header.size() >> (8 * i));
    return refusal_of_content(content + header + std::string(data_bytes, '\1'));
  }
  std::string refusal_of_content(const std::string& content) const {
    std::ofstream(file("hostile"), std::ios::binary) << content;
    return refusal([&] { read_safetensors(file("hostile")); });
  }

  TemporaryFolder folder_;
};

NamedArrays one_of_each_type() {
  return {{"bytes", array_of<std::uint8_t>({1, 2, 255}, {3})},
          {"floats", array_of<float>({1.5F, -2, 3, 4, 5, 6}, {2, 3})},
          {"doubles", array_of<double>({1e300, -1e-300}, {2, 1})},
          {"ints", array_of<std::int32_t>({-7}, {1})},
          {"longs", array_of<std::int64_t>({1LL << 40, -1}, {2})},
          {"scalar", array_of<float>({9}, {})},
          {"none", Array(DType::float32, {0, 4})}};
}

TEST_F(Safetensors, ComeBackAsTheyWereWritten) {
  const NamedArrays written = one_of_each_type();
  write_safetensors(file("a"), written, {{"format", "test"}});
  const NamedArrays read = read_safetensors(file("a"));
  ASSERT_EQ(read.size(), written.size());
  for (const NamedArray& expected : written) {
    SCOPED_TRACE(expected.name);
    const Array& array = find_array(read, expected.name);
    EXPECT_EQ(array.type(), expected.array.type());
    EXPECT_EQ(array.shape(), expected.array.shape());
    ASSERT_EQ(array.bytes(), expected.array.bytes());
    EXPECT_TRUE(std::equal(static_cast<const char*>(array.data()),
                           static_cast<const char*>(array.data()) + array.bytes(),
                           static_cast<const char*>(expected.array.data())));
  }
}

TEST_F(Safetensors, AreReadByThePythonPackage) {
  const std::string python = STOKER_PYTHON;
  if (std::system((python + " -c 'import safetensors.numpy' 2> /dev/null").c_str()) != 0) {
    GTEST_SKIP() << python << " has no safetensors";
  }
  write_safetensors(file("a"), one_of_each_type(), {{"format", "test"}});
  const std::string check =
      "import sys; from safetensors.numpy import load_file; from safetensors import safe_open\n"
      "a = load_file(sys.argv[1])\n"
      "assert sorted(a) == ['bytes', 'doubles', 'floats', 'ints', 'longs', 'none', 'scalar'], sorted(a)\n"
      "assert a['floats'].tolist() == [[1.5, -2, 3], [4, 5, 6]] and a['floats'].dtype == 'float32'\n"
      "assert a['doubles'].tolist() == [[1e300], [-1e-300]] and a['bytes'].tolist() == [1, 2, 255]\n"
      "assert a['longs'].tolist() == [1 << 40, -1] and a['ints'].tolist() == [-7]\n"
      "assert a['scalar'].shape == () and a['none'].shape == (0, 4)\n"
      "assert safe_open(sys.argv[1], 'numpy').metadata() == {'format': 'test'}\n";
  std::ofstream(file("check.py")) << check;
  EXPECT_EQ(std::system((python + " " + file("check.py").string() + " " + file("a").string()).c_str()), 0);
}

TEST_F(Safetensors, OfThePythonPackageAreRead) {
  const std::string python = STOKER_PYTHON;
  if (std::system((python + " -c 'import safetensors.numpy' 2> /dev/null").c_str()) != 0) {
    GTEST_SKIP() << python << " has no safetensors";
  }
  std::ofstream(file("write.py"))
      << "import sys, numpy; from safetensors.numpy import save_file\n"
         "save_file({'b': numpy.arange(6, dtype='float32').reshape(2, 3),\n"
         "           'a': numpy.array([7], dtype='int64')}, sys.argv[1], {'k': 'v'})\n";
  ASSERT_EQ(std::system((python + " " + file("write.py").string() + " " + file("b").string()).c_str()), 0);
  const NamedArrays read = read_safetensors(file("b"));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(find_array(read, "b").shape(), (Shape{2, 3}));
  EXPECT_EQ(find_array(read, "b").as<float>()[5], 5.0F);
  EXPECT_EQ(find_array(read, "a").as<std::int64_t>()[0], 7);
}

TEST_F(Safetensors, ThatAreTruncatedAnywhereAreRefused) {
  write_safetensors(file("a"), one_of_each_type());
  const std::string whole = read_file(file("a"), 1 << 20);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(refusal_of_content(whole.substr(0, length)), HasSubstr("hostile")) << length << " bytes";
  }
  EXPECT_THAT(refusal_of_content(whole + "x"), HasSubstr("its arrays take"));
}

TEST_F(Safetensors, WithAHeaderLongerThanTheFileAreRefused) {
  EXPECT_THAT(refusal_of_content("\xff\xff\xff\xff\xff\xff\xff\xff{}"), HasSubstr("header would be"));
  EXPECT_THAT(refusal_of_content(std::string("\x00\x00\x00\x01\x00\x00\x00\x00{}", 10)),
              HasSubstr("header would be"));
}

TEST_F(Safetensors, WithAForeignHeaderAreRefused) {
  EXPECT_THAT(refusal_of("not json", 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal_of("[1, 2]", 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal_of(std::string(100'000, '['), 0), HasSubstr("nested more than 4 levels deep"));
  EXPECT_THAT(refusal_of(R"({"a": 5})", 0), HasSubstr("'a' is not described"));
  EXPECT_THAT(refusal_of(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, -4]}})", 4),
              HasSubstr("'a' is not described"));
  EXPECT_THAT(refusal_of(R"({"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}})", 4),
              HasSubstr("BF16"));
  EXPECT_THAT(refusal_of(R"({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})", 4),
              HasSubstr("not a whole number"));
}

// Each would cost minutes if the time went with the square of their number.
TEST_F(Safetensors, WithAHeaderOfVeryManyPartsAreRefusedWithoutBuildingThem) {
  std::string objects = "{";
  for (int i = 0; i < 150'000; ++i) objects += fmt::format("\"{}\":{{}},", i);
  EXPECT_THAT(refusal_of(objects + "\"\":{}}", 0), HasSubstr("more than 100000 arrays"));
  std::string lists = "{\"a\":[";
  for (int i = 0; i < 400'000; ++i) lists += "[],";
  EXPECT_THAT(refusal_of(lists + "0]}", 0), HasSubstr("lists and objects"));
  std::string numbers = "{\"a\":[";
  for (int i = 0; i < 2'000'000; ++i) numbers += "0,";
  EXPECT_THAT(refusal_of(numbers + "0]}", 0), HasSubstr("values"));
}

TEST_F(Safetensors, WithOffsetsThatDoNotFitAreRefused) {
  EXPECT_THAT(refusal_of(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]}})", 8),
              HasSubstr("does not match its shape"));
  EXPECT_THAT(refusal_of(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})", 8),
              HasSubstr("gap"));
  EXPECT_THAT(refusal_of(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                             "b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})",
                         4),
              HasSubstr("overlaps"));
  // 2⁶¹ floats of 4 bytes would wrap around to 0 bytes, and 2⁶² x 2⁶² as well.
  EXPECT_THAT(
      refusal_of(R"({"a": {"dtype": "F32", "shape": [4611686018427387904], "data_offsets": [0, 0]}})", 0),
      HasSubstr("larger than the file"));
  EXPECT_THAT(
      refusal_of(R"({"a": {"dtype": "U8", "shape": [4294967296, 4294967296], "data_offsets": [0, 0]}})", 0),
      HasSubstr("larger than the file"));
}

TEST_F(Safetensors, ThatAreNotThereAreRefusedByName) {
  EXPECT_THAT(refusal([&] { read_safetensors(file("nothing")); }), HasSubstr("nothing"));
}

TEST_F(Safetensors, ThatTheMachineCannotOpenAreItsFailure) {
  NamedArrays arrays;
  arrays.push_back({"a", array_of<float>({1, 2}, {2})});
  write_safetensors(file("a"), arrays);
  const test::NoDescriptors none;
  try {
    read_safetensors(file("a"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.cause(), Cause::machine);
    EXPECT_THAT(error.what(), HasSubstr("Too many open files"));
  }
}

}  // namespace
}  // namespace stoker
