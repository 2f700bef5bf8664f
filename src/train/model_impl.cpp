#include "train/model_impl.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "train/exhaustion.h"
#include "train/full_batch.h"
#include "train/objective.h"
#include "train/optimizer_keys.h"
#include "train/optimizer_spec.h"
#include "train/precision.h"
#include "train/remedies.h"
#include "train/reserve.h"
#include "train/weights_file.h"

namespace plimsoll {
namespace {

using train::JobSpec;
using train::RunningJob;
using train::Stage;

}  // namespace

train::SessionState& Model::Impl::state() const {
  if (!joined()) {
    throw_error({ErrorCode::bad_input,
                 "the model is not compiled: call compile() first"});
  }
  return *joined();
}

void Model::Impl::move_to(train::SessionState& place) {
  const bool stays = joined() == &place;
  if (!kept.states.empty()) {
    joined()->use_device();
    if (stays) {
      throw_if_error(kept.keep_weights(place.machine().ledger()));
    } else {
      // What was held goes while its session is still joined.
      kept = value_or_throw(kept.copy_for(place.machine()));
    }
  }
  if (!stays) join(place);
}

bool Model::Impl::has_its_type() const {
  const DType dtype = train::master_dtype(*parse_dtype(options.precision));
  return std::none_of(kept.states.begin(), kept.states.end(),
                      [&](const plan::StateNeed& state) {
                        return state.role == graph::Role::parameter &&
                               state.type.dtype != dtype;
                      });
}

void Model::Impl::check_idle(const char* action) const {
  if (fitting == nullptr) return;
  throw_error(
      {ErrorCode::bad_input,
       fmt::format("{}: not from inside the model's own fit()", action)});
}

std::int64_t Model::Impl::held_bytes(Space space) const {
  return state().held_bytes(space);
}

void Model::Impl::check(const CompileOptions& asked) const {
  throw_if_error(train::check_optimizer(train::spec_of(asked.optimizer)));
  const auto precision = parse_dtype(asked.precision);
  if (!precision || !is_floating(*precision)) {
    throw_error({ErrorCode::bad_input,
                 fmt::format("precision \"{}\": use f32, bf16, f16 or f64",
                             asked.precision)});
  }
  throw_if_error(train::check_precisions(model, *precision));
  throw_if_error(train::check_loss(asked.loss.name));
  for (const std::string& metric : asked.metrics) {
    throw_if_error(train::check_metric(metric));
    if (std::count(asked.metrics.begin(), asked.metrics.end(), metric) > 1) {
      throw_error({ErrorCode::bad_input,
                   fmt::format("metric `{}` is there twice", metric)});
    }
  }
}

JobSpec Model::Impl::job_of(std::int64_t epochs) const {
  JobSpec job;
  job.model = model;
  job.train.optimizer = train::spec_of(options.optimizer);
  job.train.loss = options.loss.name;
  job.train.metrics = options.metrics;
  job.train.seed = options.seed;
  job.train.epochs = epochs;
  job.train.accumulation_steps = options.accumulation_steps;
  job.train.precision = *parse_dtype(options.precision);
  return job;
}

void Model::Impl::open_set(const Set& set, const train::DataSpec& stated,
                           PreparedJob& prepared) const {
  const auto [stage, dataset] = set;
  const auto i = static_cast<std::size_t>(stage);
  const int threads = state().machine().profile().threads;
  auto how = train::pipeline_options(prepared.job, stage, threads);
  // A random validation set must not repeat the training set.
  how.seed += stage == Stage::train ? 0 : 1;
  prepared.data.openers[i] = [how, recipe = stated.source] {
    return data::open_source(recipe, how);
  };
  data::Source source = value_or_throw(prepared.data.openers[i]());
  prepared.data.sources[i] = source.set;
  if (dataset->tuned && !dataset->in_memory) {
    prepared.data.costs[i] = value_or_throw(
        data::measure_pipeline(prepared.data.openers[i], stated.pipeline, how));
  }
  prepared.data.inputs[i] = value_or_throw(
      train::pipe(prepared.job, stage, threads, std::move(source)));
}

void Model::Impl::take_input_shape(PreparedJob& prepared) const {
  const train::JobInput& input = prepared.data.first();
  std::vector<std::int64_t> shape;
  const auto& field = input.features_field();
  for (int axis = 0; axis < field.shape.rank; ++axis) {
    shape.push_back(field.shape[axis]);
  }
  std::vector<std::int64_t>& wanted = prepared.job.model.input;
  if (wanted.empty()) wanted = shape;
  if (wanted == shape) return;
  throw_error(
      {ErrorCode::bad_input,
       fmt::format("{}: an example has shape [{}], but the model's input is "
                   "[{}]",
                   input.input.description, fmt::join(shape, ", "),
                   fmt::join(wanted, ", "))});
}

std::unique_ptr<PreparedJob> Model::Impl::prepare(
    std::initializer_list<Set> sets, std::int64_t epochs) const {
  auto prepared = std::make_unique<PreparedJob>();
  train::SessionState& place = state();
  JobSpec& job = prepared->job;
  job = job_of(epochs);
  bool first = true;
  for (const Set& set : sets) {
    if (set.second == nullptr) continue;
    train::DataSpec stated;
    throw_if_error(train::state_data(*set.second, stated));
    if (first) {
      job.train.batch = set.second->batch_size;
      job.data = stated;
      prepared->data.resident = set.second->in_memory;
    }
    open_set(set, stated, *prepared);
    if (first) take_input_shape(*prepared);
    if (set.first != Stage::predict) {
      throw_if_error(train::check_full_batch(
          job, prepared->data.input(set.first), first ? "" : "validation: "));
    }
    first = false;
  }
  prepared->planned = value_or_throw(
      train::plan_programs(job, prepared->data, place.machine()));
  check_against_kept(*prepared);
  if (weights_file) {
    throw_if_error(
        train::check_weights(*weights_file, prepared->planned.needs.states));
  }
  train::reserve_rest(place.place(),
                      {held_bytes(Space::host), held_bytes(Space::device)},
                      prepared->planned);
  return prepared;
}

// Weights have the shape that the first data gave them.
void Model::Impl::check_against_kept(const PreparedJob& prepared) const {
  for (const plan::StateNeed& now : prepared.planned.needs.states) {
    for (const plan::StateNeed& before : kept.states) {
      if (now.name != before.name || now.type.shape == before.type.shape) {
        continue;
      }
      throw_error(
          {ErrorCode::bad_input,
           fmt::format("{}: these examples need `{}` as {}, but the model "
                       "has it as {} from earlier data",
                       prepared.data.first().input.description, now.name,
                       now.type.to_string(), before.type.to_string())});
    }
  }
}

train::PlanReport Model::Impl::report(const PreparedJob& prepared) const {
  const train::SessionState& place = state();
  train::PlanReport made = train::report_on(
      prepared.job, prepared.planned, place.budget(), place.device_budget());
  if (!made.fits) return made;
  const auto check = [&](const char* name, const plan::SpaceForecast& needs,
                         std::int64_t held, const Budget& budget) {
    if (!made.fits || needs.peak_bytes + held <= budget.bytes) return;
    made.fits = false;
    made.refusal = fmt::format(
        "the job needs {} of {} memory beside the {} that the session's "
        "models hold, more than the budget of {} ({})",
        format_bytes(needs.peak_bytes), name, format_bytes(held),
        format_bytes(budget.bytes), budget.source);
  };
  check("host", made.plan.host, held_bytes(Space::host), place.budget());
  if (made.plan.device) {
    check("device", *made.plan.device, held_bytes(Space::device),
          *place.device_budget());
  }
  return made;
}

void Model::Impl::add_limits(const PreparedJob& prepared,
                             train::PlanReport& made) const {
  train::SessionState& place = state();
  // What is held already leaves less for every batch.
  train::PlanReport rest = made;
  rest.host_budget.bytes -= held_bytes(Space::host);
  if (rest.device_budget) {
    rest.device_budget->bytes -= held_bytes(Space::device);
  }
  throw_if_error(train::find_exhaustion(prepared.job, prepared.data,
                                        place.machine(), rest));
  made.host_exhausts_at = rest.host_exhausts_at;
  made.device_exhausts_at = rest.device_exhausts_at;
  made.first_to_exhaust = rest.first_to_exhaust;
}

void Model::Impl::add_remedies(const PreparedJob& prepared,
                               train::PlanReport& made) const {
  const train::JobData& data = prepared.data;
  if (made.fits || !data.has(Stage::train) || data.has(Stage::evaluate)) return;
  train::SessionState& place = state();
  JobSpec job = prepared.job;
  job.data.residency = data.resident ? "memory" : "stream";
  auto found = train::find_remedies(
      job, train::weight_of(job, prepared.planned),
      train::limits_of(place.place(),
                       {held_bytes(Space::host), held_bytes(Space::device)}),
      place.machine());
  // A refusal stands without them too.
  if (found) made.remedies = *std::move(found);
}

std::unique_ptr<RunningJob> Model::Impl::open(PreparedJob& prepared) const {
  train::SessionState& place = state();
  place.check_trains();
  {
    train::PlanReport verdict = report(prepared);
    if (!verdict.fits) {
      add_remedies(prepared, verdict);
      throw_error({ErrorCode::does_not_fit, train::refusal_text(verdict)});
    }
  }
  place.use_device();
  auto running = value_or_throw(RunningJob::open(
      prepared.job, prepared.planned, prepared.data, place.machine()));
  if (const auto& device = prepared.planned.plan.device) {
    throw_if_error(place.machine().check_device(place.line().device_bytes,
                                                device->peak_bytes));
  }
  throw_if_error(running->restore(kept));
  if (weights_file) {
    throw_if_error(train::fill_weights(
        *weights_file, prepared.planned.needs.states,
        [&](std::size_t index, const RunningJob::FillPiece& fill) {
          return running->fill_state(index, fill);
        }));
  }
  return running;
}

}  // namespace plimsoll
