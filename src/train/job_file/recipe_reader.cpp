#include "train/job_file/recipe_reader.h"

#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

namespace plimsoll::train {
namespace {

using data::OptionDef;
using data::OptionKind;
using data::OptionValue;
using Kind = JobValue::Kind;

double number_of(const JobValue& value) {
  return value.kind == Kind::integer ? static_cast<double>(value.integer)
                                     : value.real;
}

// An array of one kind; whole numbers may stand among others.
std::optional<OptionValue> list_of_values(const std::vector<JobValue>& items) {
  bool integers = true;
  bool numbers = true;
  bool texts = true;
  for (const JobValue& item : items) {
    integers = integers && item.kind == Kind::integer;
    numbers =
        numbers && (item.kind == Kind::integer || item.kind == Kind::real);
    texts = texts && item.kind == Kind::string;
  }
  if (integers) {
    std::vector<std::int64_t> list;
    for (const JobValue& item : items) list.push_back(item.integer);
    return list;
  }
  if (numbers) {
    std::vector<double> list;
    for (const JobValue& item : items) list.push_back(number_of(item));
    return list;
  }
  if (!texts) return {};
  std::vector<std::string> list;
  for (const JobValue& item : items) list.push_back(item.text);
  return list;
}

// Nothing where an option cannot be of this kind at all.
std::optional<OptionValue> value_of(const JobValue& value) {
  switch (value.kind) {
    case Kind::boolean:
      return value.boolean;
    case Kind::integer:
      return value.integer;
    case Kind::real:
      return value.real;
    case Kind::string:
      return value.text;
    case Kind::array:
      return list_of_values(value.items);
    default:
      return {};
  }
}

std::string resolve(const std::string& folder, const std::string& path) {
  const std::filesystem::path file(path);
  if (file.is_absolute()) return path;
  return (std::filesystem::path(folder) / file).string();
}

void resolve_paths(const OptionDef& def, const std::string& folder,
                   OptionValue& value) {
  if (def.kind != OptionKind::path && def.kind != OptionKind::paths) return;
  if (auto* text = std::get_if<std::string>(&value)) {
    *text = resolve(folder, *text);
  } else if (auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    for (std::string& each : *texts) each = resolve(folder, each);
  }
}

}  // namespace

data::Recipe read_recipe(TableReader& table, const data::RecipeDef& def,
                         Names other_keys, const std::string& folder) {
  std::vector<std::string_view> keys(other_keys.begin(), other_keys.end());
  for (const OptionDef& option : def.options) keys.push_back(option.key);
  table.allow(keys);
  data::Recipe recipe;
  recipe.name = def.name;
  recipe.where = table.place();
  for (const OptionDef& option : def.options) {
    if (option.required) table.require(option.key, option.meaning);
    const JobValue* stated = table.find(option.key);
    if (stated == nullptr) continue;
    std::optional<OptionValue> value = value_of(*stated);
    const std::string wrong =
        value ? data::complaint(option, *value)
              : fmt::format("cannot be {}", describe(stated->kind));
    if (!wrong.empty()) {
      table.complain(option.key, wrong);
      continue;
    }
    resolve_paths(option, folder, *value);
    recipe.options[std::string(option.key)] = *std::move(value);
  }
  return recipe;
}

}  // namespace plimsoll::train
