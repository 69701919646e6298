#include "data/csv/changed_text.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

namespace stoker {
namespace {

class ChangedText : public arrow::io::InputStream {
 public:
  ChangedText(std::shared_ptr<arrow::io::InputStream> inner, ChangeOfText change)
      : inner_(std::move(inner)), change_(std::move(change)) {}

  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    while (at_ == ready_.size() && !ended_) ARROW_RETURN_NOT_OK(prepare());
    const auto given = std::min(static_cast<std::size_t>(bytes), ready_.size() - at_);
    std::memcpy(out, ready_.data() + at_, given);
    at_ += given;
    position_ += static_cast<std::int64_t>(given);
    return static_cast<std::int64_t>(given);
  }
  // As much as was asked for, unless the text ends: who reads a start takes less for the end.
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(bytes));
    std::int64_t filled = 0;
    while (filled < bytes) {
      ARROW_ASSIGN_OR_RAISE(const std::int64_t read, Read(bytes - filled, buffer->mutable_data() + filled));
      if (read == 0) break;
      filled += read;
    }
    ARROW_RETURN_NOT_OK(buffer->Resize(filled));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }
  arrow::Status Close() override { return inner_->Close(); }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  bool closed() const override { return inner_->closed(); }

 private:
  arrow::Status prepare() {
    constexpr std::int64_t piece = 1 << 20;
    ARROW_ASSIGN_OR_RAISE(const auto text, inner_->Read(piece));
    ended_ = text->size() == 0;
    ready_.clear();
    at_ = 0;
    return change_(std::string_view(*text), ready_);
  }

  std::shared_ptr<arrow::io::InputStream> inner_;
  ChangeOfText change_;
  std::string ready_;
  std::size_t at_ = 0;
  std::int64_t position_ = 0;
  bool ended_ = false;
};

}  // namespace

std::shared_ptr<arrow::io::InputStream> changed_text(std::shared_ptr<arrow::io::InputStream> text,
                                                     ChangeOfText change) {
  return std::make_shared<ChangedText>(std::move(text), std::move(change));
}

}  // namespace stoker
