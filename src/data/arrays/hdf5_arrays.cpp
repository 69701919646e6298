#include <limits>
#include <memory>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/text/text.h"
#include "data/arrays/stored_array.h"
#include "data/format/hdf5_object.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

hdf5::Object opened_hdf5(const fs::path& path, const std::string& shown) {
  const hdf5::Library& h5 = hdf5::library();
  hdf5::Object file(h5.open_file(path.c_str(), hdf5::code::usual, hdf5::code::usual), h5.close_file);
  if (!file.is_open()) refuse("{} is not an HDF5 file, or is damaged", shown);
  return file;
}

// A file that stays open from one read of it to the next, but not more of them than a process may have.
class KeptHdf5 {
 public:
  KeptHdf5(fs::path path, std::string shown) : path_(std::move(path)), shown_(std::move(shown)) {}
  KeptHdf5(const KeptHdf5&) = delete;
  KeptHdf5& operator=(const KeptHdf5&) = delete;
  ~KeptHdf5() {
    const std::lock_guard lock(hdf5::mutex());
    if (!file_) return;
    file_.reset();
    --kept();
  }

  // Calls use(file) with the library locked.
  template <class Use>
  void open(const Use& use) {
    constexpr int most_kept = 64;
    const hdf5::LimitedLock lock(path_, shown_);
    if (file_) return use(*file_);
    hdf5::Object opened = opened_hdf5(path_, shown_);
    if (kept() == most_kept) return use(opened);
    ++kept();
    use(file_.emplace(std::move(opened)));
  }

 private:
  static int& kept() {
    static int count = 0;
    return count;
  }

  fs::path path_;
  std::string shown_;
  std::optional<hdf5::Object> file_;
};

// Of the file, for messages, and whether its values may come from others.
struct HdfPlace {
  std::string shown;
  hdf5::OtherFiles others = hdf5::OtherFiles::reject;
};

// A dataset while the mutex is held.
class Hdf5Numbers {
 public:
  Hdf5Numbers(const hdf5::Object& file, const std::string& name, const std::string& shown,
              const HdfPlace& place)
      : shown_(shown),
        dataset_(hdf5::opened_dataset(file, name, place.others, place.shown)),
        space_(dataset_.is_open() ? h5_.space(dataset_.id()) : -1, h5_.close_space),
        type_(dataset_.is_open() ? h5_.type(dataset_.id()) : -1, h5_.close_type) {
    if (!dataset_.is_open() || !space_.is_open() || !type_.is_open()) refuse("{} cannot be opened", shown_);
  }

  Shape shape() const {
    const int dimensions = h5_.dimensions(space_.id());
    if (dimensions < 1 || dimensions > 32)
      refuse("{} has {} dimensions, so it is not an array", shown_, std::max(dimensions, 0));
    std::vector<hdf5::Size> sizes(static_cast<std::size_t>(dimensions));
    h5_.sizes(space_.id(), sizes.data(), nullptr);
    Shape shape;
    for (const hdf5::Size each : sizes) {
      if (each > static_cast<hdf5::Size>(std::numeric_limits<std::int64_t>::max()))
        refuse("{} is too large", shown_);
      shape.push_back(static_cast<std::int64_t>(each));
    }
    return shape;
  }

  // Packed, a few bytes may promise more than any memory holds.
  void refuse_unfit(const Shape& shape, std::uintmax_t file_bytes) const {
    constexpr std::uint64_t always_taken = std::uint64_t{256} << 20U;
    constexpr std::uint64_t most_times = 512;
    const int kind = h5_.type_class(type_.id());
    const std::size_t size = h5_.type_size(type_.id());
    const bool is_truth = kind == hdf5::code::enumeration && size == 1;  // h5py's booleans
    if ((kind != hdf5::code::real && kind != hdf5::code::integer && !is_truth) || size == 0 || size > 8)
      refuse("{} does not hold numbers that can be read", shown_);
    const std::uint64_t most = std::max(always_taken, static_cast<std::uint64_t>(file_bytes) * most_times);
    std::uint64_t bytes = size;
    for (const std::int64_t each : shape) {
      if (each < 1) refuse("{} is empty: it has the shape {}", shown_, shape_text(shape));
      if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(each), &bytes) || bytes > most)
        refuse("{} should hold {} numbers, more than a file of {} can hold, even compressed", shown_,
               shape_text(shape), human_bytes(file_bytes));
    }
  }

  void read(const Shape& shape, std::int64_t first, std::int64_t count, float* to) const {
    std::vector<hdf5::Size> from(shape.size(), 0);
    std::vector<hdf5::Size> sizes(shape.begin(), shape.end());
    from[0] = static_cast<hdf5::Size>(first);
    sizes[0] = static_cast<hdf5::Size>(count);
    const hdf5::Object memory(h5_.make_space(static_cast<int>(sizes.size()), sizes.data(), nullptr),
                              h5_.close_space);
    constexpr int set = 0;  // H5S_SELECT_SET
    if (h5_.select(space_.id(), set, from.data(), nullptr, sizes.data(), nullptr) < 0 || !memory.is_open() ||
        h5_.read(dataset_.id(), memory_type(), memory.id(), space_.id(), hdf5::code::usual,
                 place(to, sizes)) < 0)
      refuse(
          "{} cannot be read; it is damaged, or compressed in a way that the libhdf5 installed here does not "
          "support",
          shown_);
    if (!bytes_.empty())
      for (std::size_t i = 0; i < bytes_.size(); ++i) to[i] = static_cast<float>(bytes_[i]);
  }

 private:
  bool is_truth() const { return h5_.type_class(type_.id()) == hdf5::code::enumeration; }
  // Truths are not turned into numbers by the library.
  hdf5::Id memory_type() const { return is_truth() ? type_.id() : h5_.native_float; }
  void* place(float* to, const std::vector<hdf5::Size>& sizes) const {
    if (!is_truth()) return to;
    std::size_t count = 1;
    for (const hdf5::Size each : sizes) count *= static_cast<std::size_t>(each);
    bytes_.resize(count);
    return bytes_.data();
  }

  const hdf5::Library& h5_ = hdf5::library();
  std::string shown_;
  hdf5::Object dataset_;
  hdf5::Object space_;
  hdf5::Object type_;
  mutable std::vector<std::int8_t> bytes_;
};

// `kept` is the file that is opened, for later.
StoredArray hdf5_array(const hdf5::Object& opened, const std::shared_ptr<KeptHdf5>& kept,
                       std::uintmax_t file_bytes, const std::string& path, const HdfPlace& of) {
  const std::string array_shown = fmt::format("{}: the dataset '{}'", of.shown, printable(path));
  const Hdf5Numbers numbers(opened, path, array_shown, of);
  const Shape shape = numbers.shape();
  numbers.refuse_unfit(shape, file_bytes);
  const auto read = [=](std::int64_t first, std::int64_t count, float* to) {
    kept->open([&](const hdf5::Object& file) {
      Hdf5Numbers(file, path, array_shown, of).read(shape, first, count, to);
    });
  };
  return {.name = path.substr(path.rfind('/') + 1), .shape = shape, .read = read};
}

}  // namespace

std::vector<StoredArray> hdf5_arrays(const fs::path& file, const std::string& key, const std::string& shown,
                                     bool follow_external) {
  const HdfPlace of{shown, hdf5::other_files(follow_external)};
  const auto kept = std::make_shared<KeptHdf5>(file, shown);
  const hdf5::LimitedLock lock(file, shown);
  const hdf5::Library& h5 = hdf5::library();
  const hdf5::Object opened = opened_hdf5(file, shown);
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (error) refuse("{} cannot be read: {}", shown, error.message());
  const std::string place = key.empty() ? "/" : key;
  const hdf5::Object object = hdf5::opened_object(opened, place, of.others, shown);
  if (!object.is_open()) refuse("{} has no dataset or group '{}'", shown, printable(place));
  if (h5.kind(object.id()) == hdf5::code::dataset) return {hdf5_array(opened, kept, bytes, place, of)};
  std::vector<StoredArray> arrays;
  for (const std::string& name : hdf5::datasets_in(opened, place, of.others, shown)) {
    const std::string path = place.ends_with('/') ? place + name : place + "/" + name;
    try {
      arrays.push_back(hdf5_array(opened, kept, bytes, path, of));
    } catch (const Error& problem) {
      arrays.push_back({.name = name, .shape = {}, .read = {}, .problem = problem.what()});
    }
  }
  return arrays;
}

}  // namespace stoker
