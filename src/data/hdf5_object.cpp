#include "data/hdf5_object.h"

#include <array>

namespace stoker::hdf5 {

std::mutex& mutex() {
  static std::mutex one;
  return one;
}

std::vector<std::string> datasets_in(const Object& file, const std::string& group) {
  const Library& h5 = library();
  std::vector<std::string> found;
  const Object opened(h5.open_object(file.id(), group.c_str(), code::usual), h5.close_object);
  GroupInfo info{};
  if (!opened.is_open() || h5.group_info(opened.id(), &info) < 0) return found;
  for (Size at = 0; at < info.links; ++at) {
    std::array<char, 1024> name{};
    if (h5.link_name(opened.id(), ".", 0, 0, at, name.data(), name.size(), code::usual) < 0) continue;
    const Object object(h5.open_object(opened.id(), name.data(), code::usual), h5.close_object);
    if (object.is_open() && h5.kind(object.id()) == code::dataset) found.emplace_back(name.data());
  }
  return found;
}

}  // namespace stoker::hdf5
