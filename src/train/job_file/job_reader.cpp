#include "train/job_file/job_reader.h"

#include <fmt/core.h>

#include "data/element.h"

namespace plimsoll::train {

std::string JobErrors::place(const JobValue& at,
                             const std::string& path) const {
  const std::string where = at.origin.empty()
                                ? fmt::format("{}:{}", file_, at.line)
                                : fmt::format("override `{}`", at.origin);
  return path.empty() ? where : fmt::format("{}: {}", where, path);
}

void JobErrors::add(const JobValue& at, const std::string& path,
                    std::string_view why) {
  if (first_) return;
  first_ =
      Error{ErrorCode::bad_input, fmt::format("{}: {}", place(at, path), why)};
}

void JobErrors::add(Error error) {
  if (!first_) first_ = std::move(error);
}

TableReader::TableReader(JobErrors& errors, const JobValue& table,
                         std::string path, std::string what)
    : errors_(&errors),
      table_(&table),
      path_(std::move(path)),
      what_(std::move(what)) {}

std::string TableReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void TableReader::complain(std::string_view key, std::string_view why) {
  const JobValue* value = table_->find(key);
  errors_->add(value ? *value : *table_, path_of(key), why);
}

void TableReader::allow(Names known) {
  for (const JobValue& value : table_->entries) {
    const std::string& key = value.key;
    if (contains(known, key)) continue;
    const std::string_view near = closest(known, key);
    const std::string hint =
        near.empty() ? fmt::format("it takes {}", list_of(known, "and"))
                     : fmt::format("did you mean `{}`?", near);
    errors_->add(value, path_of(key),
                 fmt::format("unknown key `{}` in {}; {}", key, what_, hint));
    return;
  }
}

bool TableReader::has(std::string_view key) const {
  return table_->find(key) != nullptr;
}

void TableReader::require(std::string_view key, std::string_view right) {
  if (has(key)) return;
  errors_->add(*table_, path_of(key),
               fmt::format("missing: {} needs {}", what_, right));
}

const JobValue* TableReader::expect(std::string_view key, JobValue::Kind kind,
                                    std::string_view right) {
  const JobValue* value = table_->find(key);
  if (!value) return nullptr;
  if (value->kind == kind) return value;
  complain(key,
           fmt::format("must be {}, not {}", right, describe(value->kind)));
  return nullptr;
}

void TableReader::read(std::string_view key, IntegerRange range,
                       std::int64_t& out) {
  const std::string right = wording(range);
  const JobValue* value = expect(key, JobValue::Kind::integer, right);
  if (!value) return;
  if (!range.holds(value->integer)) {
    complain(key, fmt::format("must be {}, not {}", right, value->integer));
    return;
  }
  out = value->integer;
}

void TableReader::read(std::string_view key, RealRange range, double& out) {
  const std::string right = wording(range);
  const JobValue* value = table_->find(key);
  if (!value) return;
  double number = 0;
  if (value->kind == JobValue::Kind::integer) {
    number = static_cast<double>(value->integer);
  } else if (value->kind == JobValue::Kind::real) {
    number = value->real;
  } else {
    expect(key, JobValue::Kind::real, right);
    return;
  }
  if (!range.holds(number)) {
    complain(key, fmt::format("must be {}, not {}", right, number));
    return;
  }
  out = number;
}

void TableReader::read(std::string_view key, bool& out) {
  if (const auto* v = expect(key, JobValue::Kind::boolean, "true or false"))
    out = v->boolean;
}

void TableReader::read(std::string_view key, std::string& out) {
  const JobValue* value = expect(key, JobValue::Kind::string, "a string");
  if (!value) return;
  if (value->text.empty()) {
    complain(key, "must not be empty");
    return;
  }
  out = value->text;
}

void TableReader::read(std::string_view key, std::optional<std::string>& out) {
  if (const auto* v = expect(key, JobValue::Kind::string, "a string"))
    out = v->text;
}

bool TableReader::is_name(const JobValue& value, const std::string& path,
                          Names names, std::string_view what) {
  if (value.kind != JobValue::Kind::string) {
    errors_->add(value, path,
                 fmt::format("must be the name of a {}, not {}", what,
                             describe(value.kind)));
    return false;
  }
  if (contains(names, value.text)) return true;
  const std::string_view near = closest(names, value.text);
  const std::string hint = near.empty()
                               ? fmt::format("known: {}", list_of(names, "and"))
                               : fmt::format("did you mean `{}`?", near);
  errors_->add(value, path,
               fmt::format("unknown {} `{}`; {}", what, value.text, hint));
  return false;
}

void TableReader::read_name(std::string_view key, Names names,
                            std::string_view what, std::string& out) {
  const JobValue* value = table_->find(key);
  if (value && is_name(*value, path_of(key), names, what)) out = value->text;
}

void TableReader::read_names(std::string_view key, Names names,
                             std::string_view what,
                             std::vector<std::string>& out) {
  const JobValue* list = array(key);
  if (!list) return;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const std::string path = fmt::format("{}[{}]", path_of(key), i);
    const std::string& name = list->items[i].text;
    if (!is_name(list->items[i], path, names, what)) return;
    if (std::find(out.begin(), out.end(), name) != out.end()) {
      return errors_->add(list->items[i], path,
                          fmt::format("{} `{}` is there already", what, name));
    }
    out.push_back(name);
  }
}

void TableReader::read_texts(std::string_view key,
                             std::vector<std::string>& out) {
  const JobValue* value = find(key);
  if (!value) return;
  const auto add = [&](const JobValue& item, const std::string& path) {
    if (item.kind == JobValue::Kind::string && !item.text.empty()) {
      out.push_back(item.text);
      return;
    }
    errors_->add(
        item, path,
        fmt::format("must be a name or an array of names, not {}",
                    item.kind == JobValue::Kind::string ? "an empty string"
                                                        : describe(item.kind)));
  };
  if (value->kind != JobValue::Kind::array) {
    add(*value, path_of(key));
    return;
  }
  if (value->items.empty()) complain(key, "must not be empty");
  for (std::size_t i = 0; i < value->items.size(); ++i) {
    add(value->items[i], fmt::format("{}[{}]", path_of(key), i));
  }
}

void TableReader::read_shape(std::string_view key,
                             std::vector<std::int64_t>& out) {
  const JobValue* list = array(key);
  if (!list) return;
  double elements = 1;
  if (list->items.empty() || list->items.size() > data::kMostRank) {
    complain(key, fmt::format("must hold 1 to {} extents, as in [28, 28]",
                              data::kMostRank));
  }
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const JobValue& item = list->items[i];
    const std::string path = fmt::format("{}[{}]", path_of(key), i);
    if (item.kind != JobValue::Kind::integer) {
      errors_->add(item, path,
                   fmt::format("must be an integer of at least 1, not {}",
                               describe(item.kind)));
    } else if (item.integer < 1) {
      errors_->add(item, path,
                   fmt::format("must be an integer of at least 1, not {}",
                               item.integer));
    }
    elements *= static_cast<double>(item.integer);
    out.push_back(item.integer);
  }
  if (elements >= 0x1p40) complain(key, "has more than 2^40 elements");
}

const JobValue* TableReader::table(std::string_view key) {
  return expect(key, JobValue::Kind::table, "a table");
}

const JobValue* TableReader::array(std::string_view key) {
  return expect(key, JobValue::Kind::array, "an array");
}

}  // namespace plimsoll::train
