// Where examples come from and how they are fed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::data {

// A recipe, not yet opened: files are read and memory is taken only by the
// job that uses it.
struct Dataset {
  enum class Kind { npy, arrays, random };
  enum class Labels { binary, uniform, classes };

  Kind kind = Kind::random;
  std::string features_path, labels_path;           // npy
  const float* features_data = nullptr;             // arrays, borrowed
  const float* labels_data = nullptr;               // arrays, borrowed
  std::int64_t examples = 0;                        // arrays, random
  std::vector<std::int64_t> features, label_shape;  // of one example
  Labels labels = Labels::binary;                   // random
  std::int64_t classes = 0;                         // random
  bool shuffled = false;
  bool in_memory = false;
  std::int64_t batch_size = 32;
  std::int64_t prefetched = 0;  // batches ready beside the one in training

  Dataset shuffle() const;
  Dataset batch(std::int64_t size) const;
  Dataset prefetch(std::int64_t batches = 1) const;
  // Loads the whole set first, as naive programs do; it counts as `user`.
  Dataset hold_in_memory() const;
};

Dataset from_npy(std::string features, std::string labels);
// Borrowed without a copy: the arrays must outlive their use. Row-major, one
// example after another.
Dataset from_arrays(const float* features, std::vector<std::int64_t> shape,
                    const float* labels, std::vector<std::int64_t> label_shape,
                    std::int64_t examples);
// Example i is made from a counter; nothing is stored.
Dataset random(std::int64_t examples, std::vector<std::int64_t> shape,
               Dataset::Labels labels = Dataset::Labels::binary,
               std::vector<std::int64_t> label_shape = {},
               std::int64_t classes = 0);

}  // namespace plimsoll::data
