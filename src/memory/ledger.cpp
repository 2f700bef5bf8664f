#include "memory/ledger.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/units.h"

namespace plimsoll {
namespace {

constexpr std::size_t kNamedHoldings = 5;
constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

std::size_t pos(Space space) { return static_cast<std::size_t>(space); }

std::string both(std::int64_t bytes) {
  return fmt::format("{} ({})", format_bytes(bytes), format_exact_bytes(bytes));
}

}  // namespace

struct Ledger::Impl {
  struct Entry {
    Holding holding;
    const Breakdown* breakdown = nullptr;
  };

  mutable std::mutex mutex;
  std::unordered_map<std::uint64_t, Entry> entries;
  std::array<std::int64_t, kSpaces> limits;
  std::array<std::int64_t, kSpaces> held{};
  std::array<std::int64_t, kSpaces> peak{};
  std::uint64_t last_id = 0;
  std::int64_t charges = 0;

  Impl() { limits.fill(kUnlimited); }

  std::vector<Holding> largest_first() const {
    std::vector<Holding> list;
    list.reserve(entries.size());
    for (const auto& [id, entry] : entries) {
      if (entry.breakdown != nullptr) {
        entry.breakdown->list(entry.holding, list);
      } else {
        list.push_back(entry.holding);
      }
    }
    std::sort(list.begin(), list.end(), [](const Holding& a, const Holding& b) {
      return std::tie(b.bytes, a.owner, a.purpose, a.space) <
             std::tie(a.bytes, b.owner, b.purpose, b.space);
    });
    return list;
  }

  // Ok when `bytes` more fit both under the space's limit and in a number.
  Status room_for(const Holding& holding, Space space) const {
    const std::int64_t limit = limits[pos(space)];
    const std::int64_t now = held[pos(space)];
    if (holding.bytes <= limit - now) return {};
    std::string text = fmt::format(
        "over budget: \"{}\" asks for {} of {} memory for {}, but {} of the "
        "limit of {} are held",
        holding.owner, both(holding.bytes), name_of(space),
        name_of(holding.purpose), both(now), both(limit));
    std::size_t named = 0;
    for (const Holding& other : largest_first()) {
      const bool counts =
          other.space == space ||
          (space == Space::host && other.space == Space::pinned);
      if (!counts || other.bytes == 0) continue;
      if (named == kNamedHoldings) {
        text += ", ...";
        break;
      }
      text += fmt::format(
          "{} \"{}\" ({}) {}", named == 0 ? "; the largest holdings:" : ",",
          other.owner, name_of(other.purpose), format_bytes(other.bytes));
      ++named;
    }
    return Error{ErrorCode::over_budget, std::move(text)};
  }

  // Checks all limits before anything changes.
  Status grow(const Holding& more) {
    PLIMSOLL_RETURN_IF_ERROR(room_for(more, more.space));
    if (more.space == Space::pinned) {
      PLIMSOLL_RETURN_IF_ERROR(room_for(more, Space::host));
    }
    add(more.space, more.bytes);
    ++charges;
    return {};
  }

  // `bytes` may be negative. Pinned memory is the host's too.
  void add(Space space, std::int64_t bytes) {
    held[pos(space)] += bytes;
    peak[pos(space)] = std::max(peak[pos(space)], held[pos(space)]);
    if (space == Space::pinned) add(Space::host, bytes);
  }
};

LedgerEntry::LedgerEntry(LedgerEntry&& other) noexcept
    : ledger_(std::exchange(other.ledger_, nullptr)), id_(other.id_) {}

LedgerEntry& LedgerEntry::operator=(LedgerEntry&& other) noexcept {
  if (this != &other) {
    release();
    ledger_ = std::exchange(other.ledger_, nullptr);
    id_ = other.id_;
  }
  return *this;
}

LedgerEntry::~LedgerEntry() { release(); }

void LedgerEntry::release() noexcept {
  if (ledger_ != nullptr) std::exchange(ledger_, nullptr)->release(id_);
}

Status LedgerEntry::resize(std::int64_t bytes, std::string_view asks) {
  if (ledger_ == nullptr) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("\"{}\" resizes what the ledger does not hold", asks)};
  }
  return ledger_->resize(id_, bytes, asks);
}

void LedgerEntry::set_breakdown(const Breakdown& breakdown) {
  if (ledger_ != nullptr) ledger_->set_breakdown(id_, breakdown);
}

Ledger::Ledger() : impl_(std::make_unique<Impl>()) {}
Ledger::~Ledger() = default;

void Ledger::set_limit(Space space, std::int64_t bytes) {
  const std::lock_guard lock(impl_->mutex);
  impl_->limits[pos(space)] = bytes;
}

Result<LedgerEntry> Ledger::charge(Holding holding) {
  if (holding.bytes < 0) {
    return Error{ErrorCode::bad_input,
                 fmt::format("\"{}\" asks the ledger for {} bytes",
                             holding.owner, holding.bytes)};
  }
  const std::lock_guard lock(impl_->mutex);
  PLIMSOLL_RETURN_IF_ERROR(impl_->grow(holding));
  const std::uint64_t id = ++impl_->last_id;
  impl_->entries.emplace(id, Impl::Entry{std::move(holding)});
  return LedgerEntry(this, id);
}

void Ledger::release(std::uint64_t id) noexcept {
  const std::lock_guard lock(impl_->mutex);
  const auto found = impl_->entries.find(id);
  if (found == impl_->entries.end()) return;
  const Holding& holding = found->second.holding;
  impl_->add(holding.space, -holding.bytes);
  impl_->entries.erase(found);
}

Status Ledger::resize(std::uint64_t id, std::int64_t bytes,
                      std::string_view asks) {
  const std::lock_guard lock(impl_->mutex);
  Holding& holding = impl_->entries.at(id).holding;
  if (bytes < 0) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("\"{}\" asks the ledger for {} bytes", asks, bytes)};
  }
  const std::int64_t more = bytes - holding.bytes;
  if (more > 0) {
    PLIMSOLL_RETURN_IF_ERROR(
        impl_->grow({std::string(asks), holding.purpose, holding.space, more}));
  } else {
    impl_->add(holding.space, more);
  }
  holding.bytes = bytes;
  return {};
}

void Ledger::set_breakdown(std::uint64_t id, const Breakdown& breakdown) {
  const std::lock_guard lock(impl_->mutex);
  impl_->entries.at(id).breakdown = &breakdown;
}

std::vector<Holding> Ledger::snapshot() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->largest_first();
}

std::int64_t Ledger::held_bytes(Space space) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->held[pos(space)];
}

std::int64_t Ledger::peak_bytes(Space space) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->peak[pos(space)];
}

std::int64_t Ledger::room_bytes(Space space) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->limits[pos(space)] - impl_->held[pos(space)];
}

std::int64_t Ledger::charges() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->charges;
}

}  // namespace plimsoll
