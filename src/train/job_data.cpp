#include "train/job_data.h"

#include <fmt/format.h>

#include "data/array_source.h"
#include "data/npy_source.h"
#include "data/random_source.h"

namespace plimsoll::train {
namespace {

Shape shape_of(const std::vector<std::int64_t>& extents) {
  return Shape(std::vector<Dim>(extents.begin(), extents.end()));
}

Result<std::unique_ptr<data::Source>> open_source(const SourceSpec& source,
                                                  std::int64_t seed) {
  if (source.type == "random") {
    data::RandomSpec spec;
    spec.examples = source.examples;
    spec.features = shape_of(source.features);
    spec.label_shape = shape_of(source.label_shape);
    spec.classes = source.label_classes;
    spec.seed = static_cast<std::uint64_t>(seed);
    spec.labels =
        source.label_kind == LabelKind::binary    ? data::RandomLabels::binary
        : source.label_kind == LabelKind::uniform ? data::RandomLabels::uniform
                                                  : data::RandomLabels::classes;
    PLIMSOLL_ASSIGN(auto opened, data::RandomSource::create(spec));
    return std::unique_ptr<data::Source>(std::move(opened));
  }
  if (source.type == "npy") {
    PLIMSOLL_ASSIGN(auto opened, data::NpySource::open(source.features_path,
                                                       source.labels_path));
    return std::unique_ptr<data::Source>(std::move(opened));
  }
  return Error{ErrorCode::bad_input,
               fmt::format("data.source: unknown type `{}`: known are random "
                           "and npy",
                           source.type)};
}

Status check_features(const data::Source& source, const ModelSpec& model) {
  if (source.features().shape == shape_of(model.input)) return {};
  return Error{
      ErrorCode::bad_input,
      fmt::format("{}: an example has shape {}, but model.input is "
                  "{}",
                  source.describe(), source.features().shape.to_string(),
                  shape_of(model.input).to_string())};
}

Status check_labels(const data::Source& train, const data::Source& other) {
  if (other.labels().shape == train.labels().shape) return {};
  return Error{
      ErrorCode::bad_input,
      fmt::format("{}: labels have shape {}, those of the training set {}",
                  other.describe(), other.labels().shape.to_string(),
                  train.labels().shape.to_string())};
}

}  // namespace

Result<JobData> open_data(const JobSpec& job) {
  JobData data;
  data.resident = job.data.residency == "memory";
  PLIMSOLL_ASSIGN(data.sources[0],
                  open_source(job.data.source, job.train.seed));
  PLIMSOLL_RETURN_IF_ERROR(check_features(*data.sources[0], job.model));
  if (job.data.validation) {
    // Another seed: a random validation set must not repeat the training set.
    PLIMSOLL_ASSIGN(data.sources[1],
                    open_source(*job.data.validation, job.train.seed + 1));
    PLIMSOLL_RETURN_IF_ERROR(check_features(*data.sources[1], job.model));
    PLIMSOLL_RETURN_IF_ERROR(check_labels(*data.sources[0], *data.sources[1]));
  }
  return data;
}

const char* name_of(Stage stage) {
  static constexpr std::array<const char*, kStages> kNames = {
      "train", "evaluate", "predict"};
  return kNames[static_cast<std::size_t>(stage)];
}

const data::Source& JobData::first() const {
  for (const auto& source : sources) {
    if (source) return *source;
  }
  return *sources[0];
}

Result<std::unique_ptr<data::Source>> resident_stand_in(
    const data::Source& source) {
  // Any aligned address will do: the stand-in is never read.
  alignas(64) static const std::byte kNowhere[64] = {};
  PLIMSOLL_ASSIGN(auto rows,
                  data::ArraySource::create(source.examples(),
                                            {kNowhere, source.features()},
                                            {kNowhere, source.labels()}));
  return std::unique_ptr<data::Source>(std::move(rows));
}

data::FeederOptions feeder_options(const JobSpec& job, Stage stage,
                                   DType labels_as) {
  data::FeederOptions options;
  options.batch = job.train.batch;
  options.features_as = job.train.precision;
  options.labels_as = labels_as;
  options.seed = static_cast<std::uint64_t>(job.train.seed);
  for (const StageSpec& part : job.data.pipeline) {
    if (part.stage == "shuffle") options.shuffle = stage == Stage::train;
    if (part.stage == "prefetch") {
      options.slots = static_cast<int>(part.batches) + 1;
      options.prefetch = part.batches > 0;
    }
  }
  return options;
}

}  // namespace plimsoll::train
