#include "train/job_data.h"

#include <fmt/core.h>

#include <algorithm>

#include "data/autotune.h"
#include "train/full_batch.h"
#include "train/network.h"

namespace plimsoll::train {
namespace {

Status check_features(const JobInput& input, const ModelSpec& model) {
  const Shape wanted(std::vector<Dim>(model.input.begin(), model.input.end()));
  const Shape shape = shape_of(input.features_field().shape);
  if (shape == wanted) return {};
  return Error{ErrorCode::bad_input,
               fmt::format("{}: an example has shape {}, but model.input is {}",
                           input.input.description, shape.to_string(),
                           wanted.to_string())};
}

// Only a set of one shape can be held whole.
Status check_holdable(const data::Source& source) {
  bool fixed = source.set != nullptr;
  if (fixed) {
    for (const data::FieldSpec& field : source.set->spec()) {
      fixed = fixed && field.shape.is_fixed();
    }
  }
  if (fixed) return {};
  return Error{ErrorCode::bad_input,
               fmt::format("{}: data.residency `memory` needs a source that is "
                           "read by number and whose examples have one size "
                           "(npy, npz, random); use `stream`",
                           source.description)};
}

Status check_labels(const JobInput& train, const JobInput& other) {
  if (other.labels_field().shape == train.labels_field().shape) return {};
  return Error{
      ErrorCode::bad_input,
      fmt::format("{}: labels have shape {}, those of the training set {}",
                  other.input.description,
                  data::to_string(other.labels_field().shape),
                  data::to_string(train.labels_field().shape))};
}

}  // namespace

Shape shape_of(const data::Extents& extents) {
  std::vector<Dim> dims;
  for (int i = 0; i < extents.rank; ++i) dims.emplace_back(extents[i]);
  return Shape(std::move(dims));
}

Result<JobInput> JobInput::of(data::Input input) {
  JobInput made;
  made.input = std::move(input);
  const data::ElementSpec& spec = made.input.spec();
  if (spec.size() < 2) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{}: elements have {}: training needs features "
                             "and labels",
                             made.input.description, data::to_string(spec))};
  }
  for (std::size_t i = 0; i < spec.size(); ++i) {
    if (spec[i].name == "features") made.features = static_cast<int>(i);
    if (spec[i].name == "labels") made.labels = static_cast<int>(i);
  }
  return made;
}

data::PipelineOptions pipeline_options(const JobSpec& job, Stage stage,
                                       int threads) {
  data::PipelineOptions options;
  options.seed = static_cast<std::uint64_t>(job.train.seed);
  options.training = stage == Stage::train;
  options.workers = threads;
  options.ordered = job.data.ordered;
  return options;
}

bool autotunes(const JobSpec& job) {
  for (const data::Recipe& stage : job.data.pipeline) {
    if (stage.flag("autotune", false)) return true;
  }
  return false;
}

Result<JobInput> pipe(const JobSpec& job, Stage stage, int threads,
                      data::Source source) {
  PLIMSOLL_ASSIGN(auto input,
                  data::build_pipeline(std::move(source), job.data.pipeline,
                                       pipeline_options(job, stage, threads)));
  return JobInput::of(std::move(input));
}

Result<JobData> open_data(const JobSpec& job, int threads) {
  JobData data;
  data.resident = job.data.residency == "memory";
  for (std::size_t i = 0; i < kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    const bool used = stage == Stage::train ||
                      (stage == Stage::evaluate && job.data.validation);
    if (!used) continue;
    auto options = pipeline_options(job, stage, threads);
    // A random validation set must not repeat the training set.
    options.seed += i;
    data.openers[i] = [options, recipe = i == 0 ? job.data.source
                                                : *job.data.validation] {
      return data::open_source(recipe, options);
    };
    PLIMSOLL_ASSIGN(auto source, data.openers[i]());
    if (autotunes(job) && !data.resident) {
      PLIMSOLL_ASSIGN(
          data.costs[i],
          data::measure_pipeline(data.openers[i], job.data.pipeline,
                                 pipeline_options(job, stage, threads)));
    }
    data.sources[i] = source.set;
    if (data.resident) {
      PLIMSOLL_RETURN_IF_ERROR(check_holdable(source));
    }
    if (data.costs[i]) {
      PLIMSOLL_ASSIGN(auto input,
                      data::tune_workers(std::move(source), data.openers[i],
                                         job.data.pipeline,
                                         pipeline_options(job, stage, threads),
                                         *data.costs[i], job.data.share_bytes));
      PLIMSOLL_ASSIGN(data.inputs[i], JobInput::of(std::move(input)));
    } else {
      PLIMSOLL_ASSIGN(data.inputs[i],
                      pipe(job, stage, threads, std::move(source)));
    }
    PLIMSOLL_RETURN_IF_ERROR(check_features(*data.inputs[i], job.model));
    PLIMSOLL_RETURN_IF_ERROR(check_labels(*data.inputs[0], *data.inputs[i]));
    PLIMSOLL_RETURN_IF_ERROR(check_full_batch(
        job, *data.inputs[i],
        stage == Stage::train ? "data.source: " : "data.validation: "));
  }
  return data;
}

std::int64_t prefetched(const data::Recipe& stage) {
  return stage.integer("batches", 1);
}

const char* name_of(Stage stage) {
  static constexpr std::array<const char*, kStages> kNames = {
      "train", "evaluate", "predict"};
  return kNames[static_cast<std::size_t>(stage)];
}

const JobInput& JobData::first() const {
  for (const auto& input : inputs) {
    if (input) return *input;
  }
  return *inputs[0];
}

std::optional<DType> index_type(const JobSpec& job, const JobData& data) {
  if (!takes_indices(job.model)) return std::nullopt;
  for (const auto& input : data.inputs) {
    if (!input) continue;
    switch (input->features_field().dtype) {
      case DType::i64:
      case DType::u32:
      case DType::u64:
      case DType::f64:
        return DType::i64;
      default:
        break;
    }
  }
  return DType::i32;
}

data::FeederOptions feeder_options(const JobSpec& job, const JobInput& input,
                                   int threads, DType features_as,
                                   DType labels_as) {
  data::FeederOptions options;
  options.batch = job.train.batch;
  for (const data::FieldSpec& field : input.input.spec()) {
    options.as.push_back(field.dtype);
  }
  options.as[static_cast<std::size_t>(input.features)] = features_as;
  options.as[static_cast<std::size_t>(input.labels)] = labels_as;
  bool maps = false;
  for (const data::Recipe& part : job.data.pipeline) {
    maps = maps || data::is_map(part);
    if (data::makes_batches(part)) {
      // A partial batch of a stream that nobody has counted is of a size that
      // no program is planned for.
      options.remainder = part.flag("remainder", true) &&
                          input.examples() != data::kUnknownCount;
    }
    if (part.name != "prefetch") continue;
    const std::int64_t batches = prefetched(part);
    // Copying rows takes one reader; maps are work for all threads.
    const std::int64_t readers = part.integer("readers", maps ? threads : 1);
    if (batches == 0) continue;
    options.readers = static_cast<int>(readers);
    options.slots = static_cast<int>(batches + readers);
  }
  return options;
}

}  // namespace plimsoll::train
