// A source or a stage as a user states it: a name and options, from a job
// file or from C++. The catalogue says which there are.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "data/element.h"
#include "data/indexed.h"
#include "data/map.h"
#include "data/stream.h"

namespace plimsoll::data {

using OptionValue = std::variant<bool, std::int64_t, double, std::string,
                                 std::vector<std::int64_t>, std::vector<double>,
                                 std::vector<std::string>>;

struct Recipe {
  std::string name;  // "csv", "resize"
  std::map<std::string, OptionValue, std::less<>> options;
  std::string where;  // "mlp.toml:9: data.source", for errors
  // Of a source: the sources that it joins, and the stages of one that is
  // joined.
  std::vector<Recipe> inputs;
  std::vector<Recipe> stages;

  // What only C++ can give: a source's elements, a stage's function.
  std::function<Result<std::shared_ptr<const Indexed>>()> set;
  std::function<Result<std::unique_ptr<Stream>>()> stream;
  std::function<Result<std::shared_ptr<Map>>()> map;
  std::function<Result<bool>(const Element&)> predicate;

  bool has(std::string_view key) const { return options.contains(key); }
  // The option, or `otherwise`. Whole numbers serve as numbers, and a single
  // value as a list of one.
  bool flag(std::string_view key, bool otherwise) const;
  std::int64_t integer(std::string_view key, std::int64_t otherwise) const;
  double number(std::string_view key, double otherwise) const;
  std::string text(std::string_view key, const std::string& otherwise) const;
  std::vector<std::int64_t> integers(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  // A size such as "4MiB", in bytes.
  Result<std::int64_t> bytes(std::string_view key,
                             std::int64_t otherwise) const;

  Error bad(const std::string& what) const;
};

enum class OptionKind : std::uint8_t {
  flag,
  integer,
  number,
  text,
  path,  // relative to the job file's folder
  size,  // bytes, with a unit
  integers,
  numbers,
  texts,
  paths,
};

struct OptionDef {
  std::string_view key;
  OptionKind kind = OptionKind::integer;
  bool required = false;
  std::string_view meaning;  // "`height`, of the new image, in pixels"
  // Of integers and numbers.
  double least = -9e18;
  double most = 9e18;
  // Of texts: the only ones there are, separated by a space; empty: any.
  std::string_view choices;
};

struct RecipeDef {
  std::string_view name;
  std::span<const OptionDef> options;
  bool chance = false;  // training only: evaluation goes without
  bool map = false;     // changes elements one by one
  bool joins = false;   // has `inputs`

  const OptionDef* find(std::string_view key) const;
};

// What is wrong with a value ("must be an integer from 0 to 64, not -1"), or
// empty.
std::string complaint(const OptionDef& def, const OptionValue& value);
// Of a source with all its inputs, or of a stage: every name and option is in
// the catalogue, every value right, every required one there.
Status check_source(const Recipe& recipe);
Status check_stage(const Recipe& recipe);

std::span<const RecipeDef> source_defs();
std::span<const RecipeDef> stage_defs();
const RecipeDef* find_source(std::string_view name);
const RecipeDef* find_stage(std::string_view name);
// Whether a stage changes elements one by one.
bool is_map(const Recipe& stage);
// `batch`, or `padded_batch`.
bool makes_batches(const Recipe& stage);
// Shuffle, batch, prefetch.
std::vector<Recipe> default_pipeline();

}  // namespace plimsoll::data
