#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <vector>

namespace stoker {

// A list of whole numbers that mostly go on in equal steps, as the rows of a series do. It is kept as the
// runs that they make, so that a million rows one behind the other take no more memory than two; numbers that
// make none are kept as they are.
template <class Number>
class NumberRuns {
 public:
  class Iterator;
  using value_type = Number;
  using const_iterator = Iterator;
  using iterator = Iterator;

  NumberRuns() = default;
  template <std::ranges::input_range Numbers>
  explicit NumberRuns(const Numbers& numbers) {
    for (const auto number : numbers) push_back(static_cast<Number>(number));
  }

  void push_back(Number number) {
    if (are_laid_out()) {
      numbers_.push_back(number);
    } else if (runs_.empty() ||
               (size_ - runs_.back().begin > 1 && number != number_in(runs_.back(), size_))) {
      runs_.push_back({size_, number, 0});
    } else if (size_ - runs_.back().begin == 1) {
      runs_.back().step = static_cast<Number>(bits(number) - bits(runs_.back().first));
    }
    ++size_;
    const bool saves_nothing = runs_.size() * sizeof(Run) > size_ * sizeof(Number);
    if (saves_nothing && runs_.size() > few_runs) {
      numbers_ = laid_out();
      runs_ = {};
    }
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Number operator[](std::size_t index) const {
    if (are_laid_out()) return numbers_[index];
    const Run& run = *std::prev(std::ranges::upper_bound(runs_, index, {}, &Run::begin));
    return number_in(run, index);
  }
  Number at(std::size_t index) const {
    if (index >= size_) throw std::out_of_range("a number beyond the end of a list");
    return (*this)[index];
  }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }
  std::vector<Number> laid_out() const {
    std::vector<Number> numbers;
    numbers.reserve(size_);
    for (const Number number : *this) numbers.push_back(number);
    return numbers;
  }
  std::size_t bytes() const { return runs_.capacity() * sizeof(Run) + numbers_.capacity() * sizeof(Number); }

  class Iterator {
   public:
    using value_type = Number;
    using difference_type = std::ptrdiff_t;
    using reference = Number;
    using pointer = void;
    using iterator_category = std::input_iterator_tag;

    Iterator() = default;
    Iterator(const NumberRuns* list, std::size_t index) : list_(list), index_(index) {}
    Number operator*() const { return (*list_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++index_;
      return before;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const NumberRuns* list_ = nullptr;
    std::size_t index_ = 0;
  };

 private:
  struct Run {
    std::size_t begin;  // in the list
    Number first;
    Number step;
  };
  static constexpr std::size_t few_runs = 16;

  // Steps that overflow come back to the same number: they are found and taken in one arithmetic.
  static std::uint64_t bits(Number number) { return static_cast<std::uint64_t>(number); }
  static Number number_in(const Run& run, std::size_t index) {
    return static_cast<Number>(bits(run.first) + bits(run.step) * (index - run.begin));
  }
  bool are_laid_out() const { return !numbers_.empty(); }

  std::size_t size_ = 0;
  std::vector<Run> runs_;
  std::vector<Number> numbers_;  // instead of the runs
};

}  // namespace stoker
