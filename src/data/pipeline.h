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
  // Otherwise elements of streams come as their maps are done.
  bool ordered = true;
};

struct Source {
  // What stages so far run on; ends after them.
  std::shared_ptr<Workers> workers;
  std::shared_ptr<ErrorPolicy> policy;
  // Elements as they are stored: one of the two.
  std::shared_ptr<const Indexed> set;
  std::unique_ptr<Stream> stream;
  // What turns a stream's records into elements; runs on several threads.
  std::vector<std::shared_ptr<Map>> maps;
  std::string description;
  std::uint64_t stages = 0;  // so far
};

Source source_over(std::shared_ptr<const Indexed> set);

Result<Source> open_source(const Recipe& recipe,
                           const PipelineOptions& options);

// A source with stages over it; none of its maps are left to do.
Result<Source> add_stages(Source source, std::span<const Recipe> stages,
                          const PipelineOptions& options);

// Sets stay sets as long as every stage allows it: then batches are filled by
// several readers at a time, straight from the source. A stage that needs the
// elements one after another makes a stream of it. `batch` and `prefetch` are
// the feeder's.
Result<Input> build_pipeline(Source source, std::span<const Recipe> stages,
                             const PipelineOptions& options);

}  // namespace plimsoll::data
