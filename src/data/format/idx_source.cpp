#include <algorithm>

#include <arrow/type.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "data/format/idx.h"
#include "data/format/image_columns.h"
#include "data/source/source_reader.h"
#include "data/source/watched_files.h"
#include "device/workers.h"

// Images and their labels, which lie in files of their own beside each other, and the rows to test with in
// two more: train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-…, t10k-labels-….
namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view images_word = "images";
constexpr std::string_view labels_word = "labels";

std::string with_word(std::string name, std::string_view word, std::string_view by) {
  if (const std::size_t at = name.rfind(word); at != std::string::npos) name.replace(at, word.size(), by);
  return name;
}

std::size_t idx_place(const std::string& name) {
  return name.rfind("idx");
}

// Under which a file of the same collection may lie there: with a point or a dash before idx, packed or not,
// that of the images first.
std::vector<std::string> spellings(const std::string& name) {
  std::vector<std::string> result{name};
  if (const std::size_t at = idx_place(name); at != std::string::npos && at > 0) {
    std::string other = name;
    other[at - 1] = name[at - 1] == '.' ? '-' : '.';
    result.push_back(other);
  }
  const std::size_t count = result.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& each = result[i];
    result.push_back(each.ends_with(".gz") ? each.substr(0, each.size() - 3) : each + ".gz");
  }
  return result;
}

std::optional<fs::path> found_beside(const fs::path& file, const std::string& name) {
  std::error_code error;
  for (const std::string& each : spellings(name))
    if (fs::is_regular_file(file.parent_path() / each, error)) return file.parent_path() / each;
  return std::nullopt;
}

// Of one dimension, and its name says so.
std::string labels_name(const std::string& images) {
  std::string name = with_word(images, images_word, labels_word);
  const std::size_t at = idx_place(name);
  if (at != std::string::npos && at + 3 < name.size()) name[at + 3] = '1';
  return name;
}

// Labels are bytes mostly, whatever the images are.
std::optional<fs::path> labels_beside(const fs::path& images) {
  const std::string name = labels_name(images.filename().string());
  if (auto found = found_beside(images, name)) return found;
  const std::size_t at = idx_place(name);
  if (at == std::string::npos || at + 5 > name.size()) return std::nullopt;
  for (const std::string_view type : {"ubyte", "byte", "short", "int", "float", "double"})
    if (auto found = found_beside(images, name.substr(0, at + 5).append(type))) return found;
  return std::nullopt;
}

struct LabelledImages {
  IdxArray images;
  IdxArray labels;
};

LabelledImages with_labels(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name.find(images_word) == std::string::npos) {
    const bool has_labels = name.find(labels_word) != std::string::npos;
    refuse("{}: {}", file.string(),
           has_labels ? "labels are found by the file of their images; give the path of that one"
                      : "the labels of images are found by their names, so that of the images must have the "
                        "word images "
                        "in it, as train-images-idx3-ubyte has");
  }
  LabelledImages result{look_at_idx(file), {}};
  if (result.images.sizes.size() < 2)
    refuse("{} has one dimension ({} numbers); images have two or more, rows first", file.string(),
           result.images.shape());
  std::string wanted = labels_name(name);
  if (wanted.ends_with(".gz")) wanted.resize(wanted.size() - 3);
  const std::optional<fs::path> labels = labels_beside(file);
  if (!labels)
    refuse("the labels of {} are missing: there is no {} (or {}.gz) beside it", file.string(), wanted,
           wanted);
  result.labels = look_at_idx(*labels);
  if (result.labels.sizes.size() != 1)
    refuse("{} has {} dimensions ({}); labels have one", labels->string(), result.labels.sizes.size(),
           result.labels.shape());
  if (result.labels.rows() != result.images.rows())
    refuse("{} has {}, but {} has {}", labels->string(),
           counted(static_cast<std::uint64_t>(result.labels.rows()), "label"), file.string(),
           counted(static_cast<std::uint64_t>(result.images.rows()), "image"));
  return result;
}

// MNIST calls them t10k, others test. None beside images that are not called train.
std::optional<fs::path> test_images_beside(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name.find("train") == std::string::npos) return std::nullopt;
  for (const std::string_view word : {"t10k", "test"})
    if (auto found = found_beside(file, with_word(name, "train", word))) return found;
  return std::nullopt;
}

void refuse_unlike(const LabelledImages& one, const LabelledImages& other) {
  const auto is_alike = [](const IdxArray& a, const IdxArray& b) {
    return a.type->Equals(*b.type) &&
           std::ranges::equal(a.sizes.begin() + 1, a.sizes.end(), b.sizes.begin() + 1, b.sizes.end());
  };
  for (const auto part : {&LabelledImages::images, &LabelledImages::labels}) {
    if (!is_alike(one.*part, other.*part))
      refuse("{} ({} of {}) and {} ({} of {}), the rows to test with, do not match",
             (one.*part).file.string(), (one.*part).shape(), (one.*part).type->ToString(),
             (other.*part).file.string(), (other.*part).shape(), (other.*part).type->ToString());
  }
}

class ImagesReader : public SourceReader {
 public:
  ImagesReader(const SourceConfig& config, const fs::path& base)
      : description_(config.path), training_(with_labels(base / config.path)) {
    if (const auto found = test_images_beside(training_.images.file)) {
      testing_ = with_labels(*found);
      refuse_unlike(training_, *testing_);
    }
    std::vector<fs::path> files;
    for (const IdxArray* each : arrays()) files.push_back(each->file);
    files_.emplace(files, description_);
  }

  const std::string& description() const override { return description_; }
  std::string fingerprint() const override;
  Table read(const std::vector<std::string>& text_columns, const Notes& notes) const override;
  std::optional<Table> first_rows(const std::vector<std::string>& text_columns) const override;
  std::optional<RowCount> row_count() const override {
    if (!testing_) return RowCount{training_.images.rows(), std::nullopt};
    return RowCount{training_.images.rows() + testing_->images.rows(), training_.images.rows()};
  }
  std::uintmax_t bytes() const override { return files_->bytes(); }

 private:
  std::vector<const IdxArray*> arrays() const;
  Table rows_of(std::int64_t training_rows, std::int64_t testing_rows) const;

  std::string description_;
  LabelledImages training_;
  std::optional<LabelledImages> testing_;
  std::optional<WatchedFiles> files_;
};

std::vector<const IdxArray*> ImagesReader::arrays() const {
  std::vector<const IdxArray*> all{&training_.images, &training_.labels};
  if (testing_) all.insert(all.end(), {&testing_->images, &testing_->labels});
  return all;
}

// The content alone: the same images are the same under other names.
std::string ImagesReader::fingerprint() const {
  std::string all = "idx";
  for (const std::string& each : files_->hashes()) all += " " + each;
  return sha256_of_text(all);
}

Table ImagesReader::rows_of(std::int64_t training_rows, std::int64_t testing_rows) const {
  const IdxArray& images = training_.images;
  const IdxArray& labels = training_.labels;
  const ImageColumns columns(training_rows + testing_rows, {images.sizes.begin() + 1, images.sizes.end()},
                             {images.type, images.element_bytes}, {labels.type, labels.element_bytes});
  const auto read_part = [&](std::int64_t part) {
    const LabelledImages& from = part == 0 ? training_ : *testing_;
    const std::int64_t first = part == 0 ? 0 : training_rows;
    const std::int64_t count = part == 0 ? training_rows : testing_rows;
    read_idx(from.images, count, columns.pixels_from(first));
    read_idx(from.labels, count, columns.labels_from(first));
  };
  // A packed file keeps one core busy; others are shared among all of them.
  const int parts = testing_rows > 0 ? 2 : 1;
  share_among_threads(parts, images.is_packed ? std::min(parts, cores_to_share()) : 1, read_part);
  return columns.table();
}

Table ImagesReader::read(const std::vector<std::string>& /*text_columns*/, const Notes& notes) const {
  const std::int64_t testing_rows = testing_ ? testing_->images.rows() : 0;
  Table table = rows_of(training_.images.rows(), testing_rows);
  files_->refuse_if_written();
  notes(Severity::info, fmt::format("the labels are those of {}", training_.labels.file.filename().string()));
  if (testing_) {
    table.first_test_row = training_.images.rows();
    notes(Severity::info,
          fmt::format("{} beside it has {} to test with", testing_->images.file.filename().string(),
                      counted(static_cast<std::uint64_t>(testing_rows), "row")));
  }
  return table;
}

std::optional<Table> ImagesReader::first_rows(const std::vector<std::string>& /*text_columns*/) const {
  constexpr std::int64_t enough = 1000;
  return rows_of(std::min(enough, training_.images.rows()), 0);
}

}  // namespace

OpenedSource open_images(const SourceConfig& config, const fs::path& base) {
  return std::make_unique<ImagesReader>(config, base);
}

}  // namespace stoker
