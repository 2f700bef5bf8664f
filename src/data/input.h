// What a pipeline gives to its consumer: an indexed set, or a stream.
#pragma once

#include <memory>
#include <string>

#include "data/indexed.h"
#include "data/stream.h"
#include "data/workers.h"

namespace plimsoll::data {

struct Input {
  // What a stream's maps run on, and what becomes of bad elements.
  std::shared_ptr<Workers> workers;
  std::shared_ptr<ErrorPolicy> policy;
  // One of the two. Sets are shared by the views over them.
  std::shared_ptr<const Indexed> set;
  std::shared_ptr<Stream> stream;
  std::string description;

  const ElementSpec& spec() const { return set ? set->spec() : stream->spec(); }
  // Elements in an epoch, or kUnknownCount.
  std::int64_t size() const { return set ? set->size() : stream->count(); }
};

inline Input input_over(std::shared_ptr<const Indexed> set) {
  std::string description = set->describe();
  Input input;
  input.set = std::move(set);
  input.description = std::move(description);
  return input;
}

}  // namespace plimsoll::data
