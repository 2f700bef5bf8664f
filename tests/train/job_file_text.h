// Texts of job files for tests, and what is wrong with them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "train/job_file/job_file.h"

namespace plimsoll::train::testing {

// One key a line, so that each mistake has a line of its own.
inline constexpr char kGood[] = R"([model]
input = [4, 2]
layers = [
  { type = "flatten" },
  { type = "dense", units = 3, activation = "relu" },
  { type = "dropout", rate = 0.5 },
  { type = "dense", units = 1 },
  { type = "activation", activation = "sigmoid" },
]
[data]
residency = "stream"
pipeline = [
  { stage = "shuffle" },
  { stage = "batch" },
  { stage = "prefetch", batches = 3 },
]
[data.source]
type = "random"
examples = 100
features = [4, 2]
labels = { type = "binary" }
[train]
batch = 8
epochs = 2
loss = "binary_crossentropy"
metrics = ["accuracy"]
precision = "f64"
seed = 7
[train.optimizer]
type = "adamw"
learning_rate = 0.01
weight_decay = 0.1
[memory]
host = "64MiB"
)";

inline std::string with(std::string text, const std::string& from,
                        const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

inline std::string error_of(const std::string& text,
                            std::vector<std::string> overrides = {}) {
  const auto job = parse_job(text, "job.toml", overrides);
  if (job) return "(no error)";
  EXPECT_EQ(job.error().code, ErrorCode::bad_input);
  return job.error().message;
}

}  // namespace plimsoll::train::testing
