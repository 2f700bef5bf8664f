#include "data/views/joined_views.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "data/check.h"
#include "data/views/view_scratch.h"

namespace plimsoll::data {

Result<std::unique_ptr<ZippedView>> ZippedView::create(
    std::shared_ptr<const Indexed> left, std::shared_ptr<const Indexed> right) {
  std::unique_ptr<ZippedView> view(
      new ZippedView(std::move(left), std::move(right)));
  view->spec_ = view->left_->spec();
  const ElementSpec& other = view->right_->spec();
  view->spec_.insert(view->spec_.end(), other.begin(), other.end());
  tell_names_apart(view->spec_);
  PLIMSOLL_RETURN_IF_ERROR(check_spec("zip", view->spec_));
  return view;
}

std::int64_t ZippedView::size() const {
  return std::min(left_->size(), right_->size());
}

std::int64_t ZippedView::scratch_bytes() const {
  return std::max(left_->scratch_bytes(), right_->scratch_bytes());
}

Status ZippedView::read(std::int64_t number, Element& out,
                        std::span<std::byte* const> buffers,
                        const ReadContext& context) const {
  const std::size_t left = left_->spec().size();
  Element other;
  PLIMSOLL_RETURN_IF_ERROR(
      right_->read(number, other, buffers.subspan(left), context));
  PLIMSOLL_RETURN_IF_ERROR(
      left_->read(number, out, buffers.first(left), context));
  std::copy_n(other.values.begin(), right_->spec().size(),
              out.values.begin() + static_cast<std::ptrdiff_t>(left));
  return {};
}

Status ZippedView::gather(std::span<const std::int64_t> numbers,
                          std::span<std::byte* const> rows,
                          const ReadContext& context) const {
  PLIMSOLL_RETURN_IF_ERROR(check_numbers(*this, numbers));
  const std::size_t left = left_->spec().size();
  PLIMSOLL_RETURN_IF_ERROR(left_->gather(numbers, rows.first(left), context));
  return right_->gather(numbers, rows.subspan(left), context);
}

const std::byte* ZippedView::borrow(int field, std::int64_t first) const {
  const int left = static_cast<int>(left_->spec().size());
  return field < left ? left_->borrow(field, first)
                      : right_->borrow(field - left, first);
}

std::string ZippedView::describe() const {
  return fmt::format("{} beside {}", left_->describe(), right_->describe());
}

Result<std::unique_ptr<ConcatenatedView>> ConcatenatedView::create(
    std::shared_ptr<const Indexed> first,
    std::shared_ptr<const Indexed> second) {
  std::unique_ptr<ConcatenatedView> view(
      new ConcatenatedView(std::move(first), std::move(second)));
  const ElementSpec& a = view->first_->spec();
  const ElementSpec& b = view->second_->spec();
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i) {
    same = a[i].dtype == b[i].dtype && a[i].shape == b[i].shape;
  }
  if (!same) {
    return Error{ErrorCode::bad_input,
                 fmt::format("concatenate: elements of {} ({}) cannot follow "
                             "elements of {} ({})",
                             to_string(b), view->second_->describe(),
                             to_string(a), view->first_->describe())};
  }
  view->spec_ = a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    view->spec_[i].most_bytes = std::max(a[i].most_bytes, b[i].most_bytes);
  }
  return view;
}

std::int64_t ConcatenatedView::scratch_bytes() const {
  return std::max(first_->scratch_bytes(), second_->scratch_bytes());
}

Status ConcatenatedView::read(std::int64_t number, Element& out,
                              std::span<std::byte* const> buffers,
                              const ReadContext& context) const {
  const std::int64_t first = first_->size();
  if (number < first) return first_->read(number, out, buffers, context);
  PLIMSOLL_RETURN_IF_ERROR(
      second_->read(number - first, out, buffers, context));
  out.index += first;
  return {};
}

Status ConcatenatedView::gather(std::span<const std::int64_t> numbers,
                                std::span<std::byte* const> rows,
                                const ReadContext& context) const {
  PLIMSOLL_RETURN_IF_ERROR(check_numbers(*this, numbers));
  const std::int64_t first = first_->size();
  RowPointers at = row_pointers(rows);
  std::array<std::int64_t, kNumbersAtOnce> beneath;
  while (!numbers.empty()) {
    const bool in_first = numbers[0] < first;
    std::size_t count = 0;
    while (count < std::min(numbers.size(), kNumbersAtOnce) &&
           (numbers[count] < first) == in_first) {
      beneath[count] = numbers[count] - (in_first ? 0 : first);
      ++count;
    }
    PLIMSOLL_RETURN_IF_ERROR((in_first ? *first_ : *second_)
                                 .gather({beneath.data(), count}, at, context));
    at = behind(at, spec_, count);
    numbers = numbers.subspan(count);
  }
  return {};
}

void ConcatenatedView::origins(std::span<std::int64_t> numbers,
                               std::int64_t epoch) const {
  const std::int64_t first = first_->size();
  for (std::int64_t& number : numbers) {
    if (number < first) {
      first_->origins({&number, 1}, epoch);
      continue;
    }
    number -= first;
    second_->origins({&number, 1}, epoch);
    number += first;
  }
}

std::string ConcatenatedView::whereabouts(std::int64_t number) const {
  const std::int64_t first = first_->size();
  return number < first ? first_->whereabouts(number)
                        : second_->whereabouts(number - first);
}

std::string ConcatenatedView::describe() const {
  return fmt::format("{} and then {}", first_->describe(), second_->describe());
}

}  // namespace plimsoll::data
