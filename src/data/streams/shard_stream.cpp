#include "data/streams/shard_stream.h"

#include <fmt/core.h>

#include <utility>

#include "data/streams/stage.h"

namespace plimsoll::data {
namespace {

class ShardStream final : public Stage {
 public:
  ShardStream(std::unique_ptr<Stream> input, std::int64_t shard,
              std::int64_t shards)
      : Stage(std::move(input)), shard_(shard), shards_(shards) {}

  std::string name() const override { return "shard"; }
  std::int64_t count() const override {
    const std::int64_t all = input_->count();
    if (all == kUnknownCount) return all;
    return all / shards_ + (all % shards_ > shard_ ? 1 : 0);
  }

  Status start(std::int64_t epoch) override {
    turn_ = 0;
    return input_->start(epoch);
  }

  Result<bool> next(Element& out) override {
    for (;;) {
      PLIMSOLL_ASSIGN(const bool got, input_->next(out));
      if (!got) return false;
      const bool ours = turn_ == shard_;
      turn_ = turn_ + 1 == shards_ ? 0 : turn_ + 1;
      if (ours) return true;
    }
  }

  void save(State& state) const override {
    input_->save(state);
    state.push(turn_);
  }
  Status restore(std::int64_t epoch, StateReader& state) override {
    PLIMSOLL_RETURN_IF_ERROR(input_->restore(epoch, state));
    PLIMSOLL_ASSIGN(turn_, state.next(0, shards_ - 1));
    return {};
  }

 private:
  std::int64_t shard_;
  std::int64_t shards_;
  std::int64_t turn_ = 0;  // whose the next element is
};

}  // namespace

Result<std::unique_ptr<Stream>> shard_stream(std::unique_ptr<Stream> input,
                                             std::int64_t shard,
                                             std::int64_t shards) {
  if (shards < 1 || shard < 0 || shard >= shards) {
    return Error{ErrorCode::bad_input,
                 fmt::format("shard {} of {}: 0 to one less than the number of "
                             "shards is right",
                             shard, shards)};
  }
  return std::unique_ptr<Stream>(
      std::make_unique<ShardStream>(std::move(input), shard, shards));
}

}  // namespace plimsoll::data
