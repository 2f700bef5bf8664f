#include "train/job_file/job_file.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "data/recipe.h"
#include "train/job_file/job_file_sections.h"
#include "train/job_file/job_overrides.h"
#include "train/job_file/job_toml.h"

namespace plimsoll::train {
namespace {

constexpr std::uintmax_t kMostFileBytes = 1 << 20;

Result<std::string> read_text(const std::string& path) {
  const auto bad = [&](std::string_view why) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{}: cannot read the job file: {}", path, why)};
  };
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (!std::filesystem::exists(status)) return bad("no such file");
  if (std::filesystem::is_directory(status)) return bad("it is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) return bad("it cannot be opened");
  std::string text;
  text.resize(kMostFileBytes + 1);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad()) return bad("reading failed");
  if (text.size() > kMostFileBytes) return bad("it is larger than 1 MiB");
  return text;
}

// The stages of a file that states none, so that overrides can change them.
void state_pipeline(JobValue& root) {
  JobValue* data = root.find("data");
  if (data == nullptr || data->kind != JobValue::Kind::table ||
      data->find("pipeline") != nullptr) {
    return;
  }
  JobValue pipeline;
  pipeline.key = "pipeline";
  pipeline.kind = JobValue::Kind::array;
  for (const data::Recipe& recipe : data::default_pipeline()) {
    JobValue name;
    name.key = "stage";
    name.kind = JobValue::Kind::string;
    name.text = recipe.name;
    pipeline.items.emplace_back().entries.push_back(std::move(name));
  }
  data->entries.push_back(std::move(pipeline));
}

}  // namespace

Result<JobSpec> parse_job(const std::string& text, const std::string& path,
                          std::span<const std::string> overrides) {
  PLIMSOLL_ASSIGN(JobValue root, parse_job_toml(text, path));
  state_pipeline(root);
  PLIMSOLL_RETURN_IF_ERROR(apply_overrides(root, overrides));

  JobErrors errors(path);
  TableReader table(errors, root, "", "a job");
  static constexpr std::string_view kSections[] = {"model", "data", "train",
                                                   "memory"};
  table.allow(kSections);
  table.require("model", "a section [model] with input and layers");
  table.require("data", "a section [data] with a source");
  table.require("train", "a section [train] with a loss");

  JobSpec job;
  job.path = path;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const auto section = [&](std::string_view name, auto&& read) {
    const JobValue* value = errors.any() ? nullptr : table.table(name);
    if (!value) return;
    TableReader reader(errors, *value, std::string(name),
                       fmt::format("[{}]", name));
    read(reader);
  };
  section("model", [&](TableReader& t) { read_model(t, job.model); });
  section("data", [&](TableReader& t) { read_data(t, folder, job.data); });
  section("train", [&](TableReader& t) { read_train(t, job.train); });
  section("memory", [&](TableReader& t) { read_memory(t, job.memory); });
  if (!errors.any()) check_shapes(root, job, errors);
  if (errors.any()) return errors.first();
  return job;
}

Result<JobSpec> read_job_file(const std::string& path,
                              std::span<const std::string> overrides) {
  PLIMSOLL_ASSIGN(const std::string text, read_text(path));
  return parse_job(text, path, overrides);
}

}  // namespace plimsoll::train
