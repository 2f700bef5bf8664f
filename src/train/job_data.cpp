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

}  // namespace

Result<JobData> open_data(const JobSpec& job) {
  JobData data;
  data.resident = job.data.residency == "memory";
  PLIMSOLL_ASSIGN(data.train, open_source(job.data.source, job.train.seed));
  PLIMSOLL_RETURN_IF_ERROR(check_features(*data.train, job.model));
  if (job.data.validation) {
    // Another seed: a random validation set must not repeat the training set.
    PLIMSOLL_ASSIGN(data.validation,
                    open_source(*job.data.validation, job.train.seed + 1));
    PLIMSOLL_RETURN_IF_ERROR(check_features(*data.validation, job.model));
    if (!(data.validation->labels().shape == data.train->labels().shape)) {
      return Error{
          ErrorCode::bad_input,
          fmt::format("{}: labels have shape {}, those of the training set {}",
                      data.validation->describe(),
                      data.validation->labels().shape.to_string(),
                      data.train->labels().shape.to_string())};
    }
  }
  return data;
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

data::FeederOptions feeder_options(const JobSpec& job, DType labels_as) {
  data::FeederOptions options;
  options.batch = job.train.batch;
  options.features_as = job.train.precision;
  options.labels_as = labels_as;
  options.seed = static_cast<std::uint64_t>(job.train.seed);
  for (const StageSpec& stage : job.data.pipeline) {
    if (stage.stage == "shuffle") options.shuffle = true;
    if (stage.stage == "prefetch") {
      options.slots = static_cast<int>(stage.slots);
      options.prefetch = options.slots > 1;
    }
  }
  return options;
}

}  // namespace plimsoll::train
