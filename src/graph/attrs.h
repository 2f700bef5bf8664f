// Named attributes of a node: plain values, comparable and printable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/shape.h"

namespace plimsoll::graph {

using Attr = std::variant<bool, std::int64_t, double, std::string, Shape,
                          std::vector<std::int64_t>, std::vector<double>>;

class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<const std::string, Attr>> items)
      : items_(items) {}

  void set(std::string name, Attr value) {
    items_.insert_or_assign(std::move(name), std::move(value));
  }
  // The attribute, or a default value of its type when it is absent.
  template <class T>
  T get(const std::string& name, T fallback = T()) const {
    const auto found = items_.find(name);
    if (found == items_.end()) return fallback;
    const T* value = std::get_if<T>(&found->second);
    return value ? *value : fallback;
  }
  bool has(const std::string& name) const { return items_.contains(name); }

  // The same attributes with B replaced by `batch` in every shape.
  Attrs at(std::int64_t batch) const;
  // A stable text of all attributes: part of keys and of plan files.
  std::string to_string() const;

  friend bool operator==(const Attrs&, const Attrs&) = default;

 private:
  std::map<std::string, Attr> items_;
};

}  // namespace plimsoll::graph
