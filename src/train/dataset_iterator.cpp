// Batches of a data set without a model.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/units.h"
#include "data/autotune.h"
#include "memory/arena.h"
#include "train/dataset.h"
#include "train/planned_job.h"
#include "train/report.h"
#include "train/session_state.h"

namespace plimsoll::data {
namespace {

using train::JobInput;
using train::JobSpec;

// A small batch in the caller's arrays waits for memory longer than it is
// computed on, unless the one behind it is asked for meanwhile. In the
// second-level cache it is in nobody's way.
constexpr std::uintptr_t kAskedForBytes = 64 * kKiB;

void ask_for(const float* behind, std::uintptr_t bytes) {
  constexpr std::uintptr_t kLineBytes = 64;
  const auto start = reinterpret_cast<std::uintptr_t>(behind);
  for (std::uintptr_t at = 0; at < bytes; at += kLineBytes) {
    // Where there is nothing, nothing happens.
    __builtin_prefetch(reinterpret_cast<const void*>(start + at), 0, 2);
  }
}

JobSpec job_of(const Dataset& set, std::int64_t seed) {
  JobSpec job;
  throw_if_error(train::state_data(set, job.data));
  job.train.batch = set.batch_size;
  job.train.seed = seed;
  return job;
}

struct Fed {
  JobInput input;
  FeederOptions options;
  std::optional<PipelineCost> cost;  // where it was tuned by it
  std::string reason;
};

PipelineCost measured(const JobSpec& job, const PipelineOptions& options) {
  return value_or_throw(
      measure_pipeline([&] { return open_source(job.data.source, options); },
                       job.data.pipeline, options));
}

// Everything as f32, by as many readers as are of use.
Fed feed(const Dataset& set, const JobSpec& job, int threads) {
  Fed fed;
  const auto options =
      train::pipeline_options(job, train::Stage::train, threads);
  const auto open = [&] { return open_source(job.data.source, options); };
  const std::int64_t share = job.data.share_bytes;
  Source source = value_or_throw(open());
  if (set.tuned) fed.cost = measured(job, options);
  fed.input = value_or_throw(JobInput::of(value_or_throw(
      fed.cost
          ? tune_workers(std::move(source), open, job.data.pipeline, options,
                         *fed.cost, share)
          : build_pipeline(std::move(source), job.data.pipeline, options))));
  fed.options =
      train::feeder_options(job, fed.input, threads, DType::f32, DType::f32);
  fed.options.remainder = set.keeps_remainder;
  if (fed.cost) {
    const Division division = value_or_throw(
        divide_share(fed.input.input, fed.options, *fed.cost, threads, {},
                     static_cast<int>(set.prefetched), share));
    fed.options.readers = division.readers;
    fed.options.slots = division.slots;
    fed.reason = division.reason;
  } else {
    fed.options =
        value_or_throw(fit_share(fed.input.input, fed.options, share));
  }
  return fed;
}

train::PipelineReport report_on(const Dataset& set, Session& session) {
  const int threads = session.state().machine().profile().threads;
  const JobSpec job = job_of(set, 1);
  const Fed fed = feed(set, job, threads);
  const FeederLayout layout =
      value_or_throw(feeder_layout(fed.input.input, fed.options));
  train::PipelineReport report;
  report.cost = fed.cost
                    ? *fed.cost
                    : measured(job, train::pipeline_options(
                                        job, train::Stage::train, threads));
  report.reason = fed.reason;
  train::fill_report(layout, fed.input.input, job, threads, report);
  return report;
}

}  // namespace

struct Iterator::Impl final : train::SessionUser {
  Arena arena;
  // These two end before the memory they use.
  Fed fed;
  FeederLayout layout;
  std::unique_ptr<BatchFeeder> feeder;
  int held = -1;
  ExampleBatch undelivered;  // there was no memory for its tensors
  // Features and labels, for batches of so many examples.
  std::int64_t typed_examples = 0;
  std::array<graph::TensorType, 2> types;
  // The last batch's tensors, as far as they read it where it lies.
  std::array<std::weak_ptr<runtime::Value>, 2> lent;

  void set_types(std::int64_t examples) {
    if (examples == typed_examples) return;
    const auto type = [&](const FieldSpec& field) {
      std::vector<Dim> dims = {Dim(examples)};
      const Shape one = train::shape_of(field.shape);
      dims.insert(dims.end(), one.dims().begin(), one.dims().end());
      return graph::TensorType{DType::f32, Shape(std::move(dims))};
    };
    types = {type(fed.input.features_field()), type(fed.input.labels_field())};
    typed_examples = examples;
  }

  std::shared_ptr<runtime::Value> lend(runtime::Eager& eager, std::size_t field,
                                       const float* from) {
    const auto bytes = static_cast<std::size_t>(types[field].bytes());
    auto value = value_or_throw(eager.lend(
        types[field], {reinterpret_cast<const std::byte*>(from), bytes}));
    lent[field] = value;
    if (held < 0 && bytes < kAskedForBytes) {
      ask_for(from + types[field].shape.elements(), bytes);
    }
    return value;
  }

  ~Impl() override { take_back(); }

  // Before the batch's memory is another's: whoever still has a tensor of it
  // gets a copy.
  void take_back() noexcept {
    for (auto& one : lent) {
      if (const auto value = one.lock()) value->keep();
      one.reset();
    }
    undelivered = {};
  }

  void release() {
    take_back();
    if (held >= 0) feeding().release(held);
    held = -1;
  }

  BatchFeeder& feeding() const {
    if (!feeder) {
      throw_error({ErrorCode::bad_input, "the iterator's session is closed"});
    }
    return *feeder;
  }

  void let_go() noexcept override {
    take_back();
    held = -1;
    feeder.reset();
    arena = Arena();
  }
};

Iterator::Iterator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Iterator::~Iterator() = default;
Iterator::Iterator(Iterator&&) noexcept = default;
Iterator& Iterator::operator=(Iterator&&) noexcept = default;

Iterator Dataset::iterate(Session& session, std::int64_t seed) const {
  train::Machine& machine = session.state().machine();
  auto impl = std::make_unique<Iterator::Impl>();
  impl->fed = feed(*this, job_of(*this, seed), machine.profile().threads);
  const Input& input = impl->fed.input.input;
  impl->layout = value_or_throw(feeder_layout(input, impl->fed.options));
  const std::int64_t staging = impl->layout.slots * impl->layout.slot_bytes;
  const std::int64_t all = std::max<std::int64_t>(
      round_up(impl->layout.total_bytes, machine.host().granularity_bytes()),
      machine.host().granularity_bytes());
  const std::vector<Holding> holdings = {
      {"iterator", Purpose::staging, Space::host, staging},
      {"iterator", Purpose::pipeline, Space::host, all - staging}};
  impl->arena =
      value_or_throw(Arena::commit(machine.host(), machine.ledger(), holdings));
  impl->feeder = value_or_throw(BatchFeeder::create(
      input, impl->fed.options, impl->layout,
      {impl->arena.data(), static_cast<std::size_t>(impl->arena.bytes())}));
  throw_if_error(impl->feeder->start({}));
  impl->join(session.state());
  return Iterator(std::move(impl));
}

ExampleBatch Iterator::next() {
  impl_->release();
  const Batch batch = value_or_throw(impl_->feeding().next());
  if (batch.examples == 0) return {};
  impl_->held = batch.slot;
  const JobInput& input = impl_->fed.input;
  return {batch.examples,
          static_cast<const float*>(batch.field(input.features)),
          static_cast<const float*>(batch.field(input.labels))};
}

TensorBatch Iterator::next_tensors() {
  impl_->feeding();  // throws once the session is closed
  const auto& eager = impl_->joined()->eager();
  if (!eager) {
    throw_error({ErrorCode::bad_input,
                 "the session is for planning alone: it has no tensors"});
  }
  ExampleBatch& batch = impl_->undelivered;
  if (batch.examples == 0) batch = next();
  if (batch.examples == 0) return {};
  impl_->set_types(batch.examples);
  auto features = impl_->lend(*eager, 0, batch.features);
  auto labels = impl_->lend(*eager, 1, batch.labels);
  batch = {};
  return {Tensor(std::move(features)), Tensor(std::move(labels))};
}

void Iterator::start(std::int64_t epoch) {
  impl_->take_back();
  impl_->held = -1;
  throw_if_error(impl_->feeding().start({epoch, 0, {}}));
}

std::string Iterator::position() const {
  const Position& at = impl_->feeding().position();
  nlohmann::json json = {{"epoch", at.epoch}, {"examples", at.first}};
  if (!at.stream.numbers().empty()) json["stream"] = at.stream.numbers();
  return json.dump();
}

void Iterator::restore(const std::string& position) {
  Position at;
  try {
    const auto json = nlohmann::json::parse(position);
    json.at("epoch").get_to(at.epoch);
    json.at("examples").get_to(at.first);
    if (json.contains("stream")) {
      for (const auto& number : json.at("stream")) {
        at.stream.push(number.get<std::int64_t>());
      }
    }
  } catch (const nlohmann::json::exception& failure) {
    throw_error({ErrorCode::bad_input,
                 fmt::format("not a position: {}", failure.what())});
  }
  if (!at.stream.fits()) {
    throw_error({ErrorCode::bad_input, "not a position: too long"});
  }
  impl_->take_back();
  impl_->held = -1;
  throw_if_error(impl_->feeding().start(at));
}

std::int64_t Iterator::held_bytes() const { return impl_->arena.bytes(); }

std::int64_t Iterator::skipped() const {
  const auto& policy = impl_->fed.input.input.policy;
  return policy ? policy->skipped.load() : 0;
}

std::string Dataset::explain(Session& session) const {
  return train::pipeline_text(report_on(*this, session));
}

std::string Dataset::explain_json(Session& session) const {
  return train::pipeline_json_text(report_on(*this, session));
}

}  // namespace plimsoll::data
