#include "data/recipe.h"

#include <fmt/core.h>

#include "base/units.h"

namespace plimsoll::data {
namespace {

template <class T>
const T* find(const Recipe& recipe, std::string_view key) {
  const auto at = recipe.options.find(key);
  return at == recipe.options.end() ? nullptr : std::get_if<T>(&at->second);
}

template <class T>
std::vector<T> list(const Recipe& recipe, std::string_view key) {
  if (const auto* many = find<std::vector<T>>(recipe, key)) return *many;
  if (const auto* one = find<T>(recipe, key)) return {*one};
  return {};
}

Status check_options(const Recipe& recipe, const RecipeDef& def) {
  for (const auto& [key, value] : recipe.options) {
    const OptionDef* option = def.find(key);
    if (option != nullptr) {
      const std::string wrong = complaint(*option, value);
      if (!wrong.empty())
        return recipe.bad(fmt::format("`{}`: {}", key, wrong));
      continue;
    }
    std::string known;
    for (const OptionDef& there : def.options) {
      known += fmt::format("{}`{}`", known.empty() ? "" : ", ", there.key);
    }
    return recipe.bad(fmt::format("there is no option `{}`; there are {}", key,
                                  known.empty() ? "none" : known));
  }
  for (const OptionDef& option : def.options) {
    if (option.required && !recipe.has(option.key)) {
      return recipe.bad(fmt::format("needs {}", option.meaning));
    }
  }
  return {};
}

}  // namespace

bool Recipe::flag(std::string_view key, bool otherwise) const {
  const auto* value = find<bool>(*this, key);
  return value ? *value : otherwise;
}

std::int64_t Recipe::integer(std::string_view key,
                             std::int64_t otherwise) const {
  const auto* value = find<std::int64_t>(*this, key);
  return value ? *value : otherwise;
}

double Recipe::number(std::string_view key, double otherwise) const {
  if (const auto* value = find<double>(*this, key)) return *value;
  if (const auto* whole = find<std::int64_t>(*this, key)) {
    return static_cast<double>(*whole);
  }
  return otherwise;
}

std::string Recipe::text(std::string_view key,
                         const std::string& otherwise) const {
  const auto* value = find<std::string>(*this, key);
  return value ? *value : otherwise;
}

std::vector<std::int64_t> Recipe::integers(std::string_view key) const {
  return list<std::int64_t>(*this, key);
}

std::vector<double> Recipe::numbers(std::string_view key) const {
  auto values = list<double>(*this, key);
  if (!values.empty()) return values;
  for (const std::int64_t whole : integers(key)) {
    values.push_back(static_cast<double>(whole));
  }
  return values;
}

std::vector<std::string> Recipe::texts(std::string_view key) const {
  return list<std::string>(*this, key);
}

Result<std::int64_t> Recipe::bytes(std::string_view key,
                                   std::int64_t otherwise) const {
  const auto* value = find<std::string>(*this, key);
  if (value == nullptr) return integer(key, otherwise);
  auto parsed = parse_size(*value, 0);
  if (!parsed) {
    return bad(fmt::format("`{}`: {}", key, parsed.error().message));
  }
  return *parsed;
}

Error Recipe::bad(const std::string& what) const {
  return {ErrorCode::bad_input,
          fmt::format("{}: {}", where.empty() ? name : where, what)};
}

const OptionDef* RecipeDef::find(std::string_view key) const {
  for (const OptionDef& option : options) {
    if (option.key == key) return &option;
  }
  return nullptr;
}

const RecipeDef* find_source(std::string_view name) {
  for (const RecipeDef& def : source_defs()) {
    if (def.name == name) return &def;
  }
  return nullptr;
}

const RecipeDef* find_stage(std::string_view name) {
  for (const RecipeDef& def : stage_defs()) {
    if (def.name == name) return &def;
  }
  return nullptr;
}

Status check_source(const Recipe& recipe) {
  for (const Recipe& stage : recipe.stages) {
    PLIMSOLL_RETURN_IF_ERROR(check_stage(stage));
  }
  if (recipe.set || recipe.stream) return {};
  const RecipeDef* def = find_source(recipe.name);
  if (def == nullptr) {
    return recipe.bad(fmt::format("there is no source `{}`", recipe.name));
  }
  PLIMSOLL_RETURN_IF_ERROR(check_options(recipe, *def));
  if (def->joins && recipe.inputs.empty()) {
    return recipe.bad("needs the sources that it joins");
  }
  for (const Recipe& input : recipe.inputs) {
    PLIMSOLL_RETURN_IF_ERROR(check_source(input));
  }
  return {};
}

Status check_stage(const Recipe& recipe) {
  if (recipe.map) return {};
  const RecipeDef* def = find_stage(recipe.name);
  if (def == nullptr) {
    return recipe.bad(fmt::format("there is no stage `{}`", recipe.name));
  }
  return check_options(recipe, *def);
}

bool is_map(const Recipe& stage) {
  const RecipeDef* def = find_stage(stage.name);
  return stage.map != nullptr || (def != nullptr && def->map);
}

bool makes_batches(const Recipe& stage) {
  return stage.name == "batch" || stage.name == "padded_batch";
}

std::vector<Recipe> default_pipeline() {
  std::vector<Recipe> pipeline;
  for (const char* stage : {"shuffle", "batch", "prefetch"}) {
    pipeline.emplace_back().name = stage;
  }
  return pipeline;
}

}  // namespace plimsoll::data
