#include "train/job_memory.h"

#include <cstring>
#include <utility>

#include "base/units.h"

namespace plimsoll::train {
namespace {

constexpr std::size_t kSmallBytes = 4096;

// What the plan says of a space's pools, for the ledger. The process's own
// and the user's data are charged by those who hold them.
std::vector<Holding> holdings_of(const plan::Accounts& accounts, Space space) {
  std::vector<Holding> holdings;
  for (int i = 0; i < kPurposes; ++i) {
    const auto purpose = static_cast<Purpose>(i);
    const std::int64_t bytes = accounts[static_cast<std::size_t>(i)];
    if (purpose == Purpose::runtime || purpose == Purpose::user ||
        purpose == Purpose::cache || bytes == 0) {
      continue;
    }
    holdings.push_back({"job", purpose, space, bytes});
  }
  return holdings;
}

// What a job takes beyond its needs is mapped apart: the arena stays exact.
Status reserve(const plan::Accounts& accounts, Space space,
               MemorySource& source, Ledger& ledger,
               std::vector<Arena>& reserved) {
  const std::int64_t bytes = accounts[static_cast<std::size_t>(Purpose::cache)];
  if (bytes == 0) return {};
  const Holding holding{"reserved", Purpose::cache, space, bytes};
  PLIMSOLL_ASSIGN(Arena taken, Arena::commit(source, ledger, {&holding, 1}));
  reserved.push_back(std::move(taken));
  return {};
}

}  // namespace

JobMemory::JobMemory(JobMemory&& other) noexcept { *this = std::move(other); }

JobMemory& JobMemory::operator=(JobMemory&& other) noexcept {
  if (this == &other) return *this;
  unpin();
  programs_ = std::move(other.programs_);
  host_ = std::move(other.host_);
  reserved_ = std::move(other.reserved_);
  staging_offset_ = other.staging_offset_;
  values_offset_ = other.values_offset_;
  values_bytes_ = other.values_bytes_;
  device_ = std::exchange(other.device_, nullptr);
  copies_ = std::move(other.copies_);
  pinned_ = std::exchange(other.pinned_, false);
  return *this;
}

JobMemory::~JobMemory() { unpin(); }

void JobMemory::unpin() noexcept {
  if (pinned_) device_->unpin(host_.data());
  pinned_ = false;
}

Result<JobMemory> JobMemory::commit(const plan::JobPlan& plan,
                                    Machine& machine) {
  JobMemory memory;
  memory.device_ = machine.device();
  if (memory.device_ == nullptr) {
    memory.staging_offset_ = plan.arena.staging_offset;
    PLIMSOLL_ASSIGN(
        memory.programs_,
        Arena::commit(machine.host(), machine.ledger(),
                      holdings_of(plan.host.accounts, Space::host)));
    PLIMSOLL_RETURN_IF_ERROR(reserve(plan.host.accounts, Space::host,
                                     machine.host(), machine.ledger(),
                                     memory.reserved_));
    return memory;
  }
  memory.staging_offset_ = plan.host_arena.staging_offset;
  memory.values_offset_ = plan.host_arena.values_offset;
  memory.values_bytes_ = plan::kValuesBytes;
  PLIMSOLL_ASSIGN(memory.host_, Arena::commit(machine.host(), machine.ledger(),
                                              holdings_of(plan.host.accounts,
                                                          Space::pinned)));
  PLIMSOLL_ASSIGN(
      memory.programs_,
      Arena::commit(memory.device_->memory(), machine.ledger(),
                    holdings_of(plan.device->accounts, Space::device)));
  PLIMSOLL_RETURN_IF_ERROR(reserve(plan.host.accounts, Space::host,
                                   machine.host(), machine.ledger(),
                                   memory.reserved_));
  PLIMSOLL_RETURN_IF_ERROR(reserve(plan.device->accounts, Space::device,
                                   memory.device_->memory(), machine.ledger(),
                                   memory.reserved_));
  PLIMSOLL_ASSIGN(memory.copies_, memory.device_->make_stream());
  if (machine.pins_memory()) {
    PLIMSOLL_RETURN_IF_ERROR(
        memory.device_->pin(memory.host_.data(), memory.host_.bytes()));
    memory.pinned_ = true;
  }
  return memory;
}

Result<JobMemory> JobMemory::on_host(std::int64_t bytes, Machine& machine) {
  JobMemory memory;
  const Holding holding{"model", Purpose::parameters, Space::host,
                        round_up(bytes, machine.host().granularity_bytes())};
  PLIMSOLL_ASSIGN(memory.host_, Arena::commit(machine.host(), machine.ledger(),
                                              {&holding, 1}));
  return memory;
}

std::byte* JobMemory::staging() const {
  return (device_ != nullptr ? host_ : programs_).data() + staging_offset_;
}

std::byte* JobMemory::values() const { return host_.data() + values_offset_; }

std::byte* JobMemory::view(std::int64_t offset) const {
  return device_ != nullptr ? nullptr : programs_.data() + offset;
}

std::span<std::byte> JobMemory::bounce() const {
  if (values_bytes_ == 0) return {};
  // The front of the values is the running job's.
  const std::int64_t half = values_bytes_ / 2;
  return {values() + half, static_cast<std::size_t>(half)};
}

Status JobMemory::read(std::int64_t offset, std::span<std::byte> out) const {
  if (device_ == nullptr) {
    std::memcpy(out.data(), view(offset), out.size());
    return {};
  }
  // Small values by way of fixed pages: the driver's own way for others takes
  // memory.
  const std::span<std::byte> room = bounce();
  const bool by_room = out.size() <= kSmallBytes && out.size() <= room.size();
  std::byte* const to = by_room ? room.data() : out.data();
  PLIMSOLL_RETURN_IF_ERROR(copies_->copy(
      to, programs_.data() + offset, std::ssize(out), CopyDirection::to_host));
  PLIMSOLL_RETURN_IF_ERROR(copies_->synchronize());
  if (to != out.data()) std::memcpy(out.data(), to, out.size());
  return {};
}

Status JobMemory::write(std::int64_t offset, std::span<const std::byte> from) {
  if (device_ == nullptr) {
    std::memcpy(view(offset), from.data(), from.size());
    return {};
  }
  const std::span<std::byte> room = bounce();
  const bool by_room = from.size() <= kSmallBytes && from.size() <= room.size();
  if (by_room && from.data() != room.data()) {
    std::memcpy(room.data(), from.data(), from.size());
  }
  PLIMSOLL_RETURN_IF_ERROR(copies_->copy(
      programs_.data() + offset, by_room ? room.data() : from.data(),
      std::ssize(from), CopyDirection::to_device));
  return copies_->synchronize();
}

Status JobMemory::clear(std::int64_t offset, std::int64_t bytes) {
  if (device_ == nullptr) {
    std::memset(view(offset), 0, static_cast<std::size_t>(bytes));
    return {};
  }
  PLIMSOLL_RETURN_IF_ERROR(copies_->clear(programs_.data() + offset, bytes));
  return copies_->synchronize();
}

Status JobMemory::keep_front(std::int64_t bytes, std::int64_t host_bytes,
                             Ledger& ledger) {
  unpin();
  reserved_.clear();
  values_bytes_ = 0;
  if (host_bytes > 0) {
    PLIMSOLL_RETURN_IF_ERROR(host_.shrink_to(
        host_bytes, ledger, {"model", Purpose::parameters, Space::host, 0}));
  } else {
    host_ = Arena();
  }
  const Space space = device_ != nullptr ? Space::device : Space::host;
  return programs_.shrink_to(bytes, ledger,
                             {"model", Purpose::parameters, space, 0});
}

}  // namespace plimsoll::train
