// Cubes in ENVI form, laid out by hand from the description of the form (L3Harris, "ENVI Header Files");
// files of the Python package spectral are compared by cubes_of_peers.py.
#include "data/arrays/envi.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "data/cube_fixtures.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string sound_header =
    "ENVI\n"
    "description = {\n  a field; made = by hand }\n"
    "samples = 3\nlines = 2\nbands = 4\nheader offset = 0\nfile type = ENVI Standard\n"
    "data type = 12\ninterleave = bsq\nbyte order = 0\n"
    "; a remark\n"
    "wavelength units = Nanometers\n"
    "wavelength = {\n 450.5, 550.25,\n 650.0, 750 }\n";

std::string replaced_in(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

std::string header_refusal(const std::string& text) {
  return refusal([&] { parse_envi_header(text, "'a.hdr'"); });
}

TEST(EnviHeader, IsReadByItsFields) {
  const EnviHeader header = parse_envi_header(sound_header, "'a.hdr'");
  EXPECT_EQ(header.samples, 3);
  EXPECT_EQ(header.lines, 2);
  EXPECT_EQ(header.bands, 4);
  EXPECT_EQ(header.type, StoredType::uint16);
  EXPECT_EQ(header.interleave, Interleave::bsq);
  EXPECT_FALSE(header.is_big_endian);
  EXPECT_THAT(header.wavelengths, ElementsAre(450.5, 550.25, 650.0, 750.0));
}

TEST(EnviHeader, IsReadAsOthersWriteIt) {
  std::string text = replaced_in(sound_header, "samples = 3", "Samples=3\r");
  text = replaced_in(text, "data type = 12", "Data  Type =  4");
  text = replaced_in(text, "bsq", "BIL");
  text = replaced_in(text, "byte order = 0", "byte order = 1");
  const EnviHeader header = parse_envi_header("\xef\xbb\xbf" + text, "'a.hdr'");
  EXPECT_EQ(header.type, StoredType::float32);
  EXPECT_EQ(header.interleave, Interleave::bil);
  EXPECT_TRUE(header.is_big_endian);
}

TEST(EnviHeader, HasWavelengthsInNanometres) {
  const auto wavelengths = [](const std::string& unit, const std::string& list) {
    std::string text = replaced_in(sound_header, "wavelength units = Nanometers", unit);
    text = replaced_in(text, "450.5, 550.25,\n 650.0, 750", list);
    return parse_envi_header(text, "'a.hdr'");
  };
  EXPECT_THAT(wavelengths("wavelength units = Micrometers", "0.5, 1, 2, 2.5").wavelengths,
              ElementsAre(500, 1000, 2000, 2500));
  EXPECT_THAT(wavelengths("wavelength units = um", "0.5, 1, 2, 2.5").wavelengths,
              ElementsAre(500, 1000, 2000, 2500));
  EXPECT_THAT(wavelengths("wavelength units = Wavenumber", "1e4, 5000, 2000, 1000").wavelengths,
              ElementsAre(1000, 2000, 5000, 10000));
  EnviHeader header = wavelengths("; none", "0.5, 1, 2, 2.5");
  EXPECT_THAT(header.wavelengths, ElementsAre(500, 1000, 2000, 2500));
  EXPECT_THAT(header.wavelength_note, HasSubstr("micrometres are assumed"));
  header = wavelengths("wavelength units = Unknown", "500, 600, 700, 800");
  EXPECT_THAT(header.wavelengths, ElementsAre(500, 600, 700, 800));
  EXPECT_THAT(header.wavelength_note, HasSubstr("nanometres are assumed"));
  header = wavelengths("wavelength units = Index", "1, 2, 3, 4");
  EXPECT_THAT(header.wavelengths, IsEmpty());
  EXPECT_THAT(header.wavelength_note, HasSubstr("numbers its bands"));
  header = wavelengths("wavelength units = GHz", "500, 600, 700, 800");
  EXPECT_THAT(header.wavelengths, IsEmpty());
  EXPECT_THAT(header.wavelength_note, HasSubstr("the wavelength unit 'ghz' is not known"));
}

TEST(EnviHeader, IsRefusedWhereItIsDamaged) {
  const auto without = [](const std::string& line) {
    return header_refusal(replaced_in(sound_header, line, ""));
  };
  EXPECT_THAT(without("ENVI\n"), HasSubstr("first line is not ENVI"));
  EXPECT_THAT(without("samples = 3\n"), HasSubstr("'samples' is missing"));
  EXPECT_THAT(without("lines = 2\n"), HasSubstr("'lines' is missing"));
  EXPECT_THAT(without("bands = 4\n"), HasSubstr("'bands' is missing"));
  EXPECT_THAT(without("data type = 12\n"), HasSubstr("'data type' is missing"));
  EXPECT_THAT(without("interleave = bsq\n"), HasSubstr("'interleave' is missing"));
  EXPECT_THAT(without("byte order = 0\n"), HasSubstr("'byte order' is missing"));
  const auto with = [](const std::string& what, const std::string& by) {
    return header_refusal(replaced_in(sound_header, what, by));
  };
  EXPECT_THAT(with("samples = 3", "samples = 0"), HasSubstr("at least 1"));
  EXPECT_THAT(with("samples = 3", "samples = -3"), HasSubstr("at least 1"));
  EXPECT_THAT(with("samples = 3", "samples = 3.5"), HasSubstr("whole number"));
  EXPECT_THAT(with("samples = 3", "samples = 99999999999999999999999"), HasSubstr("whole number"));
  EXPECT_THAT(with("lines = 2", "samples = 2"), HasSubstr("'samples' appears twice"));
  EXPECT_THAT(with("data type = 12", "data type = 6"), HasSubstr("complex"));
  EXPECT_THAT(with("data type = 12", "data type = 77"), HasSubstr("not known"));
  EXPECT_THAT(with("bsq", "diagonal"), HasSubstr("bsq, bil or bip"));
  EXPECT_THAT(with("byte order = 0", "byte order = 2"), HasSubstr("0 or 1"));
  EXPECT_THAT(with("header offset = 0", "header offset = -1"), HasSubstr("at least 0"));
  EXPECT_THAT(with("750 }", "750"), HasSubstr("never closed"));
  EXPECT_THAT(with("750 }", "750 } 800"), HasSubstr("after the closing brace"));
  EXPECT_THAT(with(" 650.0,", ""), AllOf(HasSubstr("3 wavelengths"), HasSubstr("4 bands")));
  EXPECT_THAT(with("650.0", "blue"), HasSubstr("'blue'"));
  EXPECT_THAT(with("; a remark", "a remark"), HasSubstr("does not read FIELD = VALUE"));
  EXPECT_THAT(with("file type = ENVI Standard", "file compression = 1"), HasSubstr("compressed"));
  EXPECT_THAT(with("file type = ENVI Standard", "reflectance scale factor = 0"), HasSubstr("above 0"));
  EXPECT_THAT(header_refusal(std::string("ENVI\0\n", 6)), HasSubstr("not text"));
}

// Whatever a header has become: it is read or refused, and the file of numbers holds what is read.
TEST(EnviHeader, IsNeverTakenOnTrust) {
  const std::vector<std::string> odd{"=",  "{",    "}",    "\n", "99999999999999999",
                                     "-1", "\xff", "e308", ",",  " "};
  const TestFolder folder;
  folder.write("a.img", std::string(48, '\1'));
  const RandomKey key = random_key(5, Purpose::sample, 0);
  std::size_t refused = 0;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    std::string text = sound_header;
    for (std::uint32_t change = 0; change <= i % 3; ++change) {
      const std::uint32_t at = random_bits(key, 8 * i + 2 * change) % static_cast<std::uint32_t>(text.size());
      const std::uint32_t what = random_bits(key, 8 * i + 2 * change + 1);
      if (what % 5 == 0) {
        text.resize(at);
      } else if (what % 5 == 1) {
        text.erase(at, 1 + what / 8 % 20);
      } else {
        text.insert(at, odd[what / 8 % odd.size()]);
      }
      if (text.empty()) break;
    }
    const bool reads_numbers = i % 10 == 0;
    if (reads_numbers) folder.write("a.hdr", text);
    const std::string message = refusal([&] {
      parse_envi_header(text, "'a.hdr'");
      if (reads_numbers) read_cubes(cubes_at(folder.path() / "a.hdr"));
    });
    EXPECT_THAT(message, ::testing::Not(HasSubstr("not a wrong request"))) << text;
    refused += message.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 1000U);
  EXPECT_LT(refused, 3000U);
}

// The number at (line, sample, band) is 100 line + 10 sample + band.
std::vector<float> expected_numbers() {
  std::vector<float> numbers;
  for (int line = 0; line < 2; ++line)
    for (int sample = 0; sample < 3; ++sample)
      for (int band = 0; band < 4; ++band)
        numbers.push_back(static_cast<float>(100 * line + 10 * sample + band));
  return numbers;
}

template <class T>
std::string numbers_laid(const std::string& interleave) {
  std::vector<T> numbers;
  const auto put = [&](int line, int sample, int band) {
    numbers.push_back(static_cast<T>(100 * line + 10 * sample + band));
  };
  if (interleave == "bsq")
    for (int band = 0; band < 4; ++band)
      for (int line = 0; line < 2; ++line)
        for (int sample = 0; sample < 3; ++sample) put(line, sample, band);
  if (interleave == "bil")
    for (int line = 0; line < 2; ++line)
      for (int band = 0; band < 4; ++band)
        for (int sample = 0; sample < 3; ++sample) put(line, sample, band);
  if (interleave == "bip")
    for (int line = 0; line < 2; ++line)
      for (int sample = 0; sample < 3; ++sample)
        for (int band = 0; band < 4; ++band) put(line, sample, band);
  return bytes_laid(numbers);
}

template <class T>
void expect_read(int type, bool is_big_endian, const std::string& interleave, std::size_t offset) {
  std::string header = replaced_in(sound_header, "data type = 12", fmt::format("data type = {}", type));
  header = replaced_in(header, "bsq", interleave);
  header = replaced_in(header, "byte order = 0", fmt::format("byte order = {}", is_big_endian ? 1 : 0));
  header = replaced_in(header, "header offset = 0", fmt::format("header offset = {}", offset));
  std::string bytes = numbers_laid<T>(interleave);
  if (is_big_endian)
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(T))
      std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                   bytes.begin() + static_cast<std::ptrdiff_t>(i + sizeof(T)));
  const TestFolder folder;
  folder.write("a.img", std::string(offset, 'x') + bytes);
  const Table table = read_cubes(cubes_at(folder.write("a.hdr", header)));
  EXPECT_EQ(table.cubes->values.shape(), (Shape{1, 2, 3, 4}));
  EXPECT_EQ(values_in(table), expected_numbers()) << type << interleave << is_big_endian << offset;
}

TEST(EnviCubes, AreReadInEveryInterleaveTypeAndOrderOfBytes) {
  for (const std::string interleave : {"bsq", "bil", "bip"})
    for (const bool is_big_endian : {false, true})
      for (const std::size_t offset : {0UL, 7UL}) {
        expect_read<std::uint8_t>(1, is_big_endian, interleave, offset);
        expect_read<std::int16_t>(2, is_big_endian, interleave, offset);
        expect_read<std::int32_t>(3, is_big_endian, interleave, offset);
        expect_read<float>(4, is_big_endian, interleave, offset);
        expect_read<double>(5, is_big_endian, interleave, offset);
        expect_read<std::uint16_t>(12, is_big_endian, interleave, offset);
        expect_read<std::uint32_t>(13, is_big_endian, interleave, offset);
        expect_read<std::int64_t>(14, is_big_endian, interleave, offset);
        expect_read<std::uint64_t>(15, is_big_endian, interleave, offset);
      }
}

TEST(EnviCubes, FindTheOtherOfTheirTwoFiles) {
  for (const std::string numbers : {"a", "a.img", "a.dat", "a.raw", "a.bsq", "a.IMG"}) {
    const TestFolder folder;
    const auto data = folder.write(numbers, numbers_laid<std::uint16_t>("bsq"));
    const auto header = folder.write("a.hdr", sound_header);
    EXPECT_EQ(values_in(read_cubes(cubes_at(header))), expected_numbers()) << numbers;
    EXPECT_EQ(values_in(read_cubes(cubes_at(data))), expected_numbers()) << numbers;
  }
  const TestFolder folder;
  const auto header = folder.write("b.hdr", sound_header);
  EXPECT_THAT(refusal([&] { read_cubes(cubes_at(header)); }), HasSubstr("no file of numbers beside"));
  const auto data = folder.write("c.img", "1234");
  EXPECT_THAT(refusal([&] { read_cubes(cubes_at(data)); }), HasSubstr("no ENVI header beside"));
}

TEST(EnviCubes, AreRefusedWhereTheirNumbersAreMissing) {
  const TestFolder folder;
  const std::string numbers = numbers_laid<std::uint16_t>("bsq");
  folder.write("a.img", numbers.substr(0, numbers.size() - 1));
  const auto header = folder.write("a.hdr", sound_header);
  EXPECT_THAT(refusal([&] { read_cubes(cubes_at(header)); }),
              AllOf(HasSubstr("cut off"), HasSubstr("2 x 3 x 4 numbers"), HasSubstr("23")));
  folder.write("a.img", numbers);
  folder.write("a.hdr", replaced_in(sound_header, "lines = 2", "lines = 4611686018427387904"));
  EXPECT_THAT(refusal([&] { read_cubes(cubes_at(header)); }), HasSubstr("cut off"));
  folder.write("a.hdr",
               replaced_in(sound_header, "header offset = 0", "header offset = 9223372036854775807"));
  EXPECT_THAT(refusal([&] { read_cubes(cubes_at(header)); }), HasSubstr("cut off"));
}

// More of them than its header asks for are most often a wrong size.
TEST(EnviCubes, WithMoreNumbersThanTheirHeaderAsksForAreToldOf) {
  const TestFolder folder;
  folder.write("a.img", numbers_laid<std::uint16_t>("bsq"));
  const auto header = folder.write("a.hdr", sound_header);
  HeardNotes sound;
  read_cubes(cubes_at(header), sound.listener());
  EXPECT_THAT(sound.info, testing::Not(Contains(HasSubstr("asks for"))));
  folder.write("a.hdr", replaced_in(sound_header, "lines = 2", "lines = 1"));
  HeardNotes heard;
  read_cubes(cubes_at(header), heard.listener());
  EXPECT_THAT(heard.info, Contains(HasSubstr("the header asks for 12 numbers, but a.img has 24")));
}

TEST(EnviCubes, AreReflectancesByTheirFactorUnlessRawIsAskedFor) {
  const TestFolder folder;
  folder.write("a.img", numbers_laid<std::uint16_t>("bsq"));
  SourceConfig config = cubes_at(
      folder.write("a.hdr", sound_header + "reflectance scale factor = 4\ndata ignore value = 112\n"));
  HeardNotes heard;
  const std::vector<float> values = values_in(read_cubes(config, heard.listener()));
  EXPECT_EQ(values[1], 0.25F);
  EXPECT_EQ(values[23], 123.0F / 4);
  EXPECT_TRUE(std::isnan(values[18])) << "112 stands for no value";
  EXPECT_THAT(heard.info, Contains(HasSubstr("divided by 4")));
  EXPECT_THAT(heard.warnings, Contains(HasSubstr("1 pixel in 1 cube has a value that is NaN")));
  config.processing = CubeProcessing::raw;
  EXPECT_EQ(values_in(read_cubes(config))[1], 1.0F);
}

TEST(EnviCubes, OfALibraryHaveASpectrumInEachLine) {
  const TestFolder folder;
  folder.write("a.sli", bytes_laid(counting<float>(6)));
  const Table table = read_cubes(cubes_at(folder.write(
      "a.hdr",
      "ENVI\nsamples = 3\nlines = 2\nbands = 1\ndata type = 4\ninterleave = bsq\nbyte order = 0\n"
      "file type = ENVI Spectral Library\nwavelength units = nm\nwavelength = {400, 500, 600}\n")));
  EXPECT_EQ(table.cubes->values.shape(), (Shape{1, 2, 1, 3}));
  EXPECT_EQ(values_in(table), counting<float>(6));
  EXPECT_THAT(table.cubes->wavelengths, ElementsAre(400, 500, 600));
}

TEST(EnviCubes, MayBeMasksWithNamesOfClasses) {
  const TestFolder folder;
  folder.write("a.img", numbers_laid<std::uint16_t>("bsq"));
  folder.write("a_mask.img", bytes_laid<std::uint8_t>({0, 1, 2, 0, 0, 2}));
  folder.write("a_mask.hdr",
               "ENVI\nsamples = 3\nlines = 2\nbands = 1\ndata type = 1\ninterleave = bsq\nclasses = 3\n"
               "class names = {Unclassified, grass, stone}\n");
  const Table table = read_cubes(cubes_at(folder.write("a.hdr", sound_header)));
  EXPECT_THAT(masks_in(table), ElementsAre(0, 1, 2, 0, 0, 2));
  EXPECT_EQ(table.cubes->classes.at(2), "stone");
}

}  // namespace
}  // namespace stoker
