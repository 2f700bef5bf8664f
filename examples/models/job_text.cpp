// An example as a job file. Written for the sources and stages that the
// examples use.
#include <sstream>

#include "models.h"

namespace plimsoll::examples {
namespace {

using data::Option;
using data::Options;

std::string text_of(const std::vector<std::int64_t>& values) {
  std::string text = "[";
  for (const std::int64_t value : values) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  }
  return text + "]";
}

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string text_of(const Option& option) {
  if (const auto* whole = std::get_if<std::int64_t>(&option)) {
    return std::to_string(*whole);
  }
  if (const auto* text = std::get_if<std::string>(&option)) {
    return "\"" + *text + "\"";
  }
  if (const auto* flag = std::get_if<bool>(&option)) {
    return *flag ? "true" : "false";
  }
  return text_of(std::get<std::vector<std::int64_t>>(option));
}

// { type = "random", ... }, its labels as a table of their own.
std::string source_text(const data::Dataset& data) {
  const Options& options = data.options;
  std::string text = "{ type = \"" + data.type + "\"";
  for (const char* key : {"examples", "features", "classes"}) {
    const auto at = options.find(key);
    if (at == options.end()) continue;
    text += std::string(", ") + key + " = " + text_of(at->second);
  }
  text += ", labels = { type = " + text_of(options.at("labels"));
  if (const auto at = options.find("label_count"); at != options.end()) {
    text += ", count = " + text_of(at->second);
  }
  if (const auto at = options.find("label_shape"); at != options.end()) {
    text += ", shape = " + text_of(at->second);
  }
  return text + " } }";
}

std::string pipeline_text(const data::Dataset& data) {
  std::string text;
  for (const data::StageRecipe& stage : data.stages) {
    text += "  { stage = \"" + stage.name + "\"";
    for (const auto& [key, value] : stage.options) {
      text += ", " + key + " = " + text_of(value);
    }
    text += " },\n";
  }
  return "pipeline = [\n" + text +
         "  { stage = \"batch\" },\n  { stage = \"prefetch\" },\n]\n";
}

// The examples have plain rates, without schedules.
std::string optimizer_text(const Optimizer& optimizer) {
  if (const auto* adam = std::get_if<Adam>(&optimizer)) {
    return "{ type = \"adam\", learning_rate = " +
           text_of(adam->learning_rate.rate) + " }";
  }
  if (const auto* adamw = std::get_if<AdamW>(&optimizer)) {
    return "{ type = \"adamw\", learning_rate = " +
           text_of(adamw->learning_rate.rate) +
           ", weight_decay = " + text_of(adamw->weight_decay) +
           ", beta_2 = " + text_of(adamw->beta_2) +
           ", epsilon = " + text_of(adamw->epsilon) + " }";
  }
  const auto& sgd = std::get<SGD>(optimizer);
  return "{ type = \"sgd\", learning_rate = " +
         text_of(sgd.learning_rate.rate) +
         ", momentum = " + text_of(sgd.momentum) + " }";
}

}  // namespace

std::string job_text(const Example& example) {
  std::string text = "# Written by write_jobs from examples/models/" +
                     example.name + ".cpp.\n" + example.model.to_toml();
  text += "[data]\nsource = " + source_text(example.data) + "\n" +
          pipeline_text(example.data);
  text += "[train]\nbatch = " + std::to_string(example.data.batch_size) + "\n";
  text += "optimizer = " + optimizer_text(example.compile.optimizer) + "\n";
  text += "loss = \"" + std::string(example.compile.loss.name) + "\"\n";
  if (!example.compile.metrics.empty()) {
    text += "metrics = [\"" + example.compile.metrics.front() + "\"]\n";
  }
  return text + "[memory]\nhost = \"" + example.host_memory + "\"\n";
}

}  // namespace plimsoll::examples
