// From recipes to an input.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/input.h"
#include "data/recipe.h"

namespace plimsoll::data {

struct PipelineOptions {
  std::uint64_t seed = 1;
  bool training = true;  // shuffles, repeats and draws chances
  int workers = 0;       // threads for the maps of streams
};

// Elements as they are stored: one of the two.
struct Source {
  std::shared_ptr<const Indexed> set;
  std::unique_ptr<Stream> stream;
  // What turns a stream's records into elements; runs on several threads.
  std::vector<std::shared_ptr<Map>> maps;
  std::string description;
};

// `seed` is for the order of files.
Result<Source> open_source(const Recipe& recipe, std::uint64_t seed);

// Sets stay sets as long as every stage allows it: then batches are filled by
// several readers at a time, straight from the source. A stage that needs the
// elements one after another makes a stream of it. `batch` and `prefetch` are
// the feeder's.
Result<Input> build_pipeline(Source source, std::span<const Recipe> stages,
                             const PipelineOptions& options);

// Whether a recipe changes elements one by one.
bool is_map(const Recipe& recipe);

}  // namespace plimsoll::data
