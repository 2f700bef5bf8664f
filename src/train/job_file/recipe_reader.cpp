#include "train/job_file/recipe_reader.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "base/units.h"

namespace plimsoll::train {
namespace {

using data::OptionDef;
using data::OptionKind;
using data::OptionValue;
using Kind = JobValue::Kind;

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    found.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

class OptionReader {
 public:
  OptionReader(TableReader& table, const OptionDef& def,
               const std::string& folder)
      : table_(table), def_(def), folder_(folder) {}

  void read(const JobValue& value, data::Recipe& recipe) {
    OptionValue& out = recipe.options[std::string(def_.key)];
    switch (def_.kind) {
      case OptionKind::flag: {
        bool flag = false;
        table_.read(def_.key, flag);
        out = flag;
        return;
      }
      case OptionKind::integer: {
        std::int64_t number = 0;
        table_.read(def_.key,
                    IntegerRange{static_cast<std::int64_t>(def_.least),
                                 static_cast<std::int64_t>(def_.most)},
                    number);
        out = number;
        return;
      }
      case OptionKind::number:
        out = number_of(value);
        return;
      case OptionKind::text:
      case OptionKind::path:
      case OptionKind::size:
        out = text_of();
        return;
      default:
        read_list(value, out);
    }
  }

 private:
  double number_of(const JobValue& value) {
    double number = value.kind == Kind::integer
                        ? static_cast<double>(value.integer)
                        : value.real;
    if (value.kind != Kind::integer && value.kind != Kind::real) {
      table_.complain(def_.key, fmt::format("must be a number, not {}",
                                            describe(value.kind)));
    } else if (!(number >= def_.least && number <= def_.most)) {
      table_.complain(def_.key, fmt::format("must be from {} to {}, not {}",
                                            def_.least, def_.most, number));
    }
    return number;
  }

  std::string text_of() {
    std::string text;
    const auto choices = words(def_.choices);
    if (choices.empty()) {
      table_.read(def_.key, text);
    } else {
      table_.read_name(def_.key, choices, def_.key, text);
    }
    if (def_.kind == OptionKind::path) text = resolve_path(folder_, text);
    if (def_.kind == OptionKind::size && !table_.errors().any()) {
      const auto bytes = parse_size(text, 0);
      if (!bytes) table_.complain(def_.key, bytes.error().message);
    }
    return text;
  }

  // A list, or a single value that stands for a list of one.
  void read_list(const JobValue& value, OptionValue& out) {
    const std::vector<JobValue> one = {value};
    const auto& items = value.kind == Kind::array ? value.items : one;
    if (items.empty()) table_.complain(def_.key, "must not be empty");
    std::vector<std::int64_t> integers;
    std::vector<double> numbers;
    std::vector<std::string> texts;
    for (const JobValue& item : items) {
      switch (def_.kind) {
        case OptionKind::integers:
          expect(item, Kind::integer, "integers");
          integers.push_back(item.integer);
          break;
        case OptionKind::numbers:
          numbers.push_back(number_of(item));
          break;
        default:
          expect(item, Kind::string, "strings");
          texts.push_back(def_.key == "files" ? resolve_path(folder_, item.text)
                                              : item.text);
      }
    }
    if (def_.kind == OptionKind::integers) out = std::move(integers);
    if (def_.kind == OptionKind::numbers) out = std::move(numbers);
    if (def_.kind == OptionKind::texts) out = std::move(texts);
  }

  void expect(const JobValue& item, Kind kind, const char* what) {
    if (item.kind == kind) return;
    table_.complain(def_.key, fmt::format("must hold {}, not {}", what,
                                          describe(item.kind)));
  }

  TableReader& table_;
  const OptionDef& def_;
  const std::string& folder_;
};

}  // namespace

std::string resolve_path(const std::string& folder, const std::string& path) {
  const std::filesystem::path file(path);
  if (path.empty() || file.is_absolute()) return path;
  return (std::filesystem::path(folder) / file).string();
}

data::Recipe read_recipe(TableReader& table, const data::RecipeDef& def,
                         std::string_view name_key, const std::string& folder) {
  std::vector<std::string_view> keys = {name_key};
  for (const OptionDef& option : def.options) keys.push_back(option.key);
  table.allow(keys);
  data::Recipe recipe;
  recipe.name = def.name;
  recipe.where = table.place();
  for (const OptionDef& option : def.options) {
    if (option.required) table.require(option.key, option.meaning);
    const JobValue* value = table.find(option.key);
    if (value == nullptr || table.errors().any()) continue;
    OptionReader(table, option, folder).read(*value, recipe);
  }
  return recipe;
}

}  // namespace plimsoll::train
