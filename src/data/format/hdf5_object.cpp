#include "data/format/hdf5_object.h"

#include <array>
#include <cstdlib>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker::hdf5 {
namespace {

[[noreturn]] void reject_other_file(const std::string& shown, const std::string& path, const char* how) {
  refuse(
      "{}: the dataset '{}' takes its values from another file ({}), which is not allowed; copy the values "
      "into the file, or set follow_external (--follow-external) if you trust it",
      shown, printable(path), how);
}

Id links(OtherFiles others) {
  return others == OtherFiles::follow ? code::usual : library().links_inside;
}

// "." is the file itself.
bool is_virtual_of_another(Id creation) {
  std::size_t count = 0;
  if (library().virtual_sources(creation, &count) < 0) return true;
  for (std::size_t i = 0; i < count; ++i) {
    std::array<char, 3> name{};
    if (library().virtual_file(creation, i, name.data(), name.size()) != 1 || name[0] != '.') return true;
  }
  return false;
}

void reject_values_elsewhere(const Object& dataset, const std::string& path, const std::string& shown) {
  const Library& h5 = library();
  const Object creation(h5.creation_of(dataset.id()), h5.close_properties);
  if (!creation.is_open()) refuse("{}: the dataset '{}' is damaged", shown, printable(path));
  if (h5.external_files(creation.id()) != 0) reject_other_file(shown, path, "external storage");
  if (h5.layout(creation.id()) == code::virtual_layout && is_virtual_of_another(creation.id()))
    reject_other_file(shown, path, "a virtual dataset");
}

double cpu_seconds_of_any_file() {
  constexpr double usual = 60;
  const char* const given = std::getenv(cpu_seconds_variable);
  const double seconds = given == nullptr ? 0 : std::strtod(given, nullptr);
  return seconds > 0 ? seconds : usual;
}

// A megabyte of a real file takes 0.004 to 0.03 s in chunks of 1000 rows, packed with gzip 9 and shuffle, and
// 0.14 s in the smallest chunks there are (libhdf5 1.10.8 reading files of 20 to 50 MB on a busy machine).
// The slowest of these files has 26 times the CPU time that it takes.
constexpr double cpu_seconds_of_megabyte = 1;

}  // namespace

double cpu_seconds_for(const std::filesystem::path& file) {
  constexpr double bytes_of_megabyte = 1e6;
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(file, unknown);
  return cpu_seconds_of_any_file() +
         (unknown ? 0 : static_cast<double>(bytes) / bytes_of_megabyte * cpu_seconds_of_megabyte);
}

LimitedLock::LimitedLock(const std::filesystem::path& file, const std::string& shown)
    : lock_(mutex()), limit_(cpu_seconds_for(file), text_of_endless(shown)) {}

std::string text_of_endless(const std::string& shown) {
  return fmt::format(
      "{} is damaged: libhdf5 did not finish reading it in {} s of CPU time and {} s for each MB of it; if "
      "the "
      "file is sound, set {} to a larger number",
      shown, cpu_seconds_of_any_file(), cpu_seconds_of_megabyte, cpu_seconds_variable);
}

std::mutex& mutex() {
  static std::mutex one;
  return one;
}

Object opened_object(const Object& file, const std::string& path, OtherFiles others,
                     const std::string& shown) {
  const Library& h5 = library();
  met_external_link();
  Object opened(h5.open_object(file.id(), path.c_str(), links(others)), h5.close_object);
  if (met_external_link()) reject_other_file(shown, path, "an external link");
  return opened;
}

Object opened_dataset(const Object& file, const std::string& path, OtherFiles others,
                      const std::string& shown) {
  const Library& h5 = library();
  if (others == OtherFiles::follow)
    return {h5.open_dataset(file.id(), path.c_str(), code::usual), h5.close_object};
  met_external_link();
  Object opened(h5.open_dataset(file.id(), path.c_str(), h5.datasets_inside), h5.close_object);
  if (met_external_link()) reject_other_file(shown, path, "an external link");
  if (opened.is_open()) reject_values_elsewhere(opened, path, shown);
  return opened;
}

std::vector<std::string> datasets_in(const Object& file, const std::string& group, OtherFiles others,
                                     const std::string& shown) {
  const Library& h5 = library();
  std::vector<std::string> found;
  const Object opened = opened_object(file, group, others, shown);
  GroupInfo info{};
  if (!opened.is_open() || h5.group_info(opened.id(), &info) < 0) return found;
  for (Size at = 0; at < info.links; ++at) {
    std::array<char, 1024> name{};
    if (h5.link_name(opened.id(), ".", 0, 0, at, name.data(), name.size(), code::usual) < 0) continue;
    const Object object = opened_object(opened, name.data(), others, shown);
    if (object.is_open() && h5.kind(object.id()) == code::dataset) found.emplace_back(name.data());
  }
  return found;
}

}  // namespace stoker::hdf5
