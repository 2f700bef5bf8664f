// Where examples come from and how they are fed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "plimsoll/session.h"
#include "plimsoll/tensor.h"

namespace plimsoll::data {

// A value of an option of a source or a stage, as a job file would state it.
using Option = std::variant<bool, std::int64_t, double, std::string,
                            std::vector<std::int64_t>, std::vector<double>,
                            std::vector<std::string>>;
using Options = std::map<std::string, Option, std::less<>>;

// Makes one example's features of another's: plain arrays of floats.
using FeatureMap = std::function<void(const float* in, float* out)>;
// Whether an example with these features is kept.
using ExampleFilter = std::function<bool(const float* features)>;
// Makes example `index` of the epoch; false ends it. To go on in mid-epoch it
// is called again from 0.
using ExampleGenerator =
    std::function<bool(std::int64_t index, float* features, float* labels)>;

struct StageRecipe {
  std::string name;  // of docs/pipeline.md: "resize"
  Options options;
  FeatureMap map;
  std::vector<std::int64_t> map_shape;
  ExampleFilter filter;
};

class Iterator;

// A recipe, not yet opened: files are read and memory is taken only by the
// job or the iterator that uses it.
struct Dataset {
  enum class Labels { binary, uniform, classes };

  // A source of docs/pipeline.md with its options; or, where `type` is empty,
  // borrowed arrays or a function.
  std::string type;
  Options options;
  std::vector<Dataset> inputs;  // of zip, concatenate and interleave
  const float* features_data = nullptr;
  const float* labels_data = nullptr;
  std::int64_t examples = 0;  // in the arrays
  ExampleGenerator generator;
  std::vector<std::int64_t> features, label_shape;  // of one example

  std::vector<StageRecipe> stages;
  bool in_memory = false;
  std::int64_t batch_size = 32;
  bool keeps_remainder = true;
  std::int64_t prefetched = 0;  // batches ready beside the one in use
  bool tuned = false;
  bool keeps_order = true;
  std::string memory_share;  // "32MiB"; empty: no limit of its own

  // Any stage of the job file's, by its name.
  Dataset stage(std::string name, Options with = {}) const;

  // The whole set in a random order, another one in each epoch.
  Dataset shuffle() const;
  // Within a window of elements: what streams are shuffled by.
  Dataset shuffle_window(std::int64_t elements) const;
  Dataset repeat(std::int64_t count) const;
  Dataset take(std::int64_t count) const;
  Dataset skip(std::int64_t count) const;
  Dataset shard(std::int64_t index, std::int64_t count) const;
  Dataset cache(std::string memory, std::string folder = {}) const;
  Dataset resize(std::int64_t height, std::int64_t width) const;
  // `f` runs on several threads at a time; what it throws ends the epoch with
  // an error that names the element. `shape` is that of `out`.
  Dataset map(std::vector<std::int64_t> shape, FeatureMap f) const;
  Dataset filter(ExampleFilter keep) const;
  // Elements that cannot be read or made are left out and counted.
  Dataset skip_errors() const;

  // Elements of streams may come as their maps are done: faster, and another
  // order every time.
  Dataset unordered() const;

  Dataset batch(std::int64_t size, bool remainder = true) const;
  // Features of different sizes, padded to one shape.
  Dataset padded_batch(std::int64_t size, std::vector<std::int64_t> shape,
                       double value = 0, bool remainder = true) const;
  Dataset prefetch(std::int64_t batches = 1) const;
  // Measures the stages and divides the share between readers and batches.
  Dataset autotune() const;
  // All that the pipeline may hold.
  Dataset share(std::string memory) const;
  // Loads the whole set first, as naive programs do; it counts as `user`.
  Dataset hold_in_memory() const;

  // The batches, without training on them.
  Iterator iterate(Session& session, std::int64_t seed = 1) const;
  // What each stage costs in bytes and time, measured; who waits for whom.
  std::string explain(Session& session) const;
  std::string explain_json(Session& session) const;
};

Dataset from_npy(std::string features, std::string labels);
// Borrowed without a copy: the arrays must outlive their use, and stay as they
// are meanwhile. Row-major, one example after another. Arrays of 1 MiB and more
// that are mapped files are refused: reading them would pull the whole file
// into memory.
Dataset from_arrays(const float* features, std::vector<std::int64_t> shape,
                    const float* labels, std::vector<std::int64_t> label_shape,
                    std::int64_t examples);
// Example i is made from a counter; nothing is stored. Features are in [0, 1),
// or whole numbers below feature_classes where that is given.
Dataset random(std::int64_t examples, std::vector<std::int64_t> shape,
               Dataset::Labels labels = Dataset::Labels::binary,
               std::vector<std::int64_t> label_shape = {},
               std::int64_t classes = 0, std::int64_t feature_classes = 0);
// Any source of the job file's: "csv", "tfrecord", "images", "webdataset",
// "npz", "lines".
Dataset from(std::string type, Options options);
Dataset from_generator(std::vector<std::int64_t> shape,
                       std::vector<std::int64_t> label_shape,
                       ExampleGenerator generator);

// Data sets as one; each keeps its own stages, but batches, prefetching and
// memory are those of the whole. Fields that share a name are told apart as
// `labels`, `labels_2`: see the stage `rename`.
Dataset zip(std::vector<Dataset> sets);
Dataset concatenate(std::vector<Dataset> sets);
// `cycle` at a time, `block` elements of each in turn.
Dataset interleave(std::vector<Dataset> sets, std::int64_t cycle = 4,
                   std::int64_t block = 1);

// A batch in the pipeline's own memory: good until the next call.
struct ExampleBatch {
  std::int64_t examples = 0;  // 0: the epoch is over
  const float* features = nullptr;
  const float* labels = nullptr;
};

// A batch as tensors of the session: good for as long as they are held.
struct TensorBatch {
  Tensor features;  // [examples, ...]
  Tensor labels;
  explicit operator bool() const { return features.defined(); }
};

class Iterator {
 public:
  ~Iterator();
  Iterator(Iterator&&) noexcept;
  Iterator& operator=(Iterator&&) noexcept;

  ExampleBatch next();
  // The same; false when the epoch is over. They have memory of their own,
  // which is written only if somebody still holds them when the iterator goes
  // on.
  TensorBatch next_tensors();
  // Goes to the beginning of an epoch.
  void start(std::int64_t epoch);
  // A few numbers as JSON, from which the same batches follow.
  std::string position() const;
  void restore(const std::string& position);
  // What it holds of the session's memory.
  std::int64_t held_bytes() const;
  // Elements left out because of errors.
  std::int64_t skipped() const;

 private:
  friend struct Dataset;
  struct Impl;
  explicit Iterator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::data
