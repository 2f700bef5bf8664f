#include "io/example.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "io/example_wire.h"

namespace plimsoll::io {
namespace {

static_assert(std::endian::native == std::endian::little);

// The numbers of the fields in TensorFlow's own definition.
constexpr std::uint64_t kFeatures = 1;  // of Example
constexpr std::uint64_t kEntry = 1;     // of Features: a map's entries
constexpr std::uint64_t kKey = 1;       // of an entry
constexpr std::uint64_t kValue = 2;
constexpr std::uint64_t kListValue = 1;  // of each list

}  // namespace

struct ExampleParser::Wire : WireReader {
  using WireReader::WireReader;
  Wire(const WireReader& inside) : WireReader(inside) {}
};

std::string_view name_of(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::none:
      break;
    case FeatureKind::bytes:
      return "bytes";
    case FeatureKind::floats:
      return "floats";
    case FeatureKind::int64s:
      return "int64s";
  }
  return "nothing";
}

ExampleParser::ExampleParser(ExampleSpec spec)
    : spec_(std::move(spec)),
      found_(spec_.size()),
      follower_(spec_.size() + 1) {}

Result<ExampleParser> ExampleParser::create(ExampleSpec spec) {
  const auto bad = [](const std::string& what) {
    return Error{ErrorCode::bad_input, what};
  };
  for (std::size_t i = 0; i < spec.size(); ++i) {
    const FeatureSpec& feature = spec[i];
    if (feature.kind == FeatureKind::none || feature.count < 0) {
      return bad(
          fmt::format("feature '{}' is wanted as {} {}: name a kind and "
                      "a count of 0 or more",
                      feature.name, feature.count, name_of(feature.kind)));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (spec[j].name == feature.name) {
        return bad(fmt::format("feature '{}' is wanted twice", feature.name));
      }
    }
  }
  return ExampleParser(std::move(spec));
}

Status ExampleParser::parse(std::span<const std::byte> record,
                            std::span<FeatureMemory> memory) {
  if (memory.size() != spec_.size()) {
    return Error{ErrorCode::internal,
                 fmt::format("memory for {} features, {} are wanted",
                             memory.size(), spec_.size())};
  }
  memory_ = memory;
  ++record_;
  previous_ = 0;
  const auto* const first =
      reinterpret_cast<const unsigned char*>(record.data());
  Wire example(first, record.size());
  bool good = true;
  while (good && !example.empty()) {
    WireField field;
    if (!take_field(example, field)) {
      good = malformed_at(example);
    } else if (field.is(kFeatures, WireType::bytes)) {
      Wire features(field.inside);
      good = parse_features(features);
    }
  }
  if (!good) {
    return Error{ErrorCode::bad_input,
                 fmt::format("is no tf.train.Example: it is malformed at its "
                             "byte {} of {}",
                             bad_at_ - first, record.size())};
  }
  return check();
}

bool ExampleParser::malformed_at(const Wire& wire) {
  bad_at_ = wire.at;
  return false;
}

bool ExampleParser::parse_features(Wire& features) {
  while (!features.empty()) {
    WireField field;
    if (!take_field(features, field)) return malformed_at(features);
    if (!field.is(kEntry, WireType::bytes)) continue;
    Wire entry(field.inside);
    if (!parse_entry(entry)) return false;
  }
  return true;
}

// The feature of that name, or -1. Records of one file mostly have the same
// features in the same order, so that the first comparison hits.
int ExampleParser::feature_of(std::string_view name) {
  if (spec_.empty()) return -1;
  std::size_t& expected = follower_[previous_];
  if (spec_[expected].name != name) {
    const auto at = std::find_if(
        spec_.begin(), spec_.end(),
        [&](const FeatureSpec& feature) { return feature.name == name; });
    if (at == spec_.end()) return -1;
    expected = static_cast<std::size_t>(at - spec_.begin());
  }
  previous_ = expected + 1;
  return static_cast<int>(expected);
}

bool ExampleParser::parse_entry(Wire& entry) {
  // The key may stand behind the value, and either may come twice.
  std::string_view key;
  const Wire whole = entry;
  WireField field;
  while (!entry.empty()) {
    if (!take_field(entry, field)) return malformed_at(entry);
    if (field.is(kKey, WireType::bytes)) {
      key = {reinterpret_cast<const char*>(field.inside.at),
             field.inside.left()};
    }
  }
  const int known = feature_of(key);
  if (known < 0) return true;
  const auto feature = static_cast<std::size_t>(known);
  found_[feature] = {record_, FeatureKind::none, 0};
  entry = whole;
  while (!entry.empty()) {
    if (!take_field(entry, field)) return malformed_at(entry);
    if (!field.is(kValue, WireType::bytes)) continue;
    Wire value(field.inside);
    if (!parse_value(value, feature)) return false;
  }
  return true;
}

bool ExampleParser::parse_value(Wire& value, std::size_t feature) {
  Found& found = found_[feature];
  while (!value.empty()) {
    WireField field;
    if (!take_field(value, field)) return malformed_at(value);
    if (field.number > 3 || field.type != WireType::bytes) continue;
    const auto kind = static_cast<FeatureKind>(field.number);
    // Of several kinds the last one holds; lists of one kind are joined.
    if (kind != found.kind) found.count = 0;
    found.kind = kind;
    if (kind != spec_[feature].kind) continue;
    Wire list(field.inside);
    const bool good = kind == FeatureKind::floats ? parse_floats(list, feature)
                      : kind == FeatureKind::int64s
                          ? parse_int64s(list, feature)
                          : parse_bytes(list, feature);
    if (!good) return false;
  }
  return true;
}

bool ExampleParser::parse_floats(Wire& list, std::size_t feature) {
  Found& found = found_[feature];
  float* const to = memory_[feature].floats;
  while (!list.empty()) {
    WireField field;
    if (!take_field(list, field)) return malformed_at(list);
    if (field.number != kListValue) continue;
    // One by one, or packed behind each other: the same bytes.
    if (field.type != WireType::bytes && field.type != WireType::fixed32) {
      continue;
    }
    const std::size_t bytes = field.inside.left();
    if (bytes % sizeof(float) != 0) return malformed_at(field.inside);
    const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
    if (to != nullptr && bytes > 0 &&
        found.count + count <= spec_[feature].count) {
      std::memcpy(to + found.count, field.inside.at, bytes);
    }
    found.count += count;
  }
  return true;
}

bool ExampleParser::parse_int64s(Wire& list, std::size_t feature) {
  Found& found = found_[feature];
  std::int64_t* const to = memory_[feature].int64s;
  const std::int64_t room = to != nullptr ? spec_[feature].count : 0;
  while (!list.empty()) {
    WireField field;
    if (!take_field(list, field)) return malformed_at(list);
    if (field.number != kListValue) continue;
    if (field.type != WireType::bytes && field.type != WireType::varint) {
      continue;
    }
    while (!field.inside.empty()) {
      std::uint64_t value = 0;
      if (!field.inside.take_varint(value)) return malformed_at(field.inside);
      if (found.count < room) {
        to[found.count] = static_cast<std::int64_t>(value);
      }
      ++found.count;
    }
  }
  return true;
}

bool ExampleParser::parse_bytes(Wire& list, std::size_t feature) {
  Found& found = found_[feature];
  std::span<const std::byte>* const to = memory_[feature].bytes;
  const std::int64_t room = to != nullptr ? spec_[feature].count : 0;
  while (!list.empty()) {
    WireField field;
    if (!take_field(list, field)) return malformed_at(list);
    if (!field.is(kListValue, WireType::bytes)) continue;
    if (found.count < room) {
      to[found.count] = {reinterpret_cast<const std::byte*>(field.inside.at),
                         field.inside.left()};
    }
    ++found.count;
  }
  return true;
}

Status ExampleParser::check() const {
  for (std::size_t i = 0; i < spec_.size(); ++i) {
    const FeatureSpec& wanted = spec_[i];
    const Found& found = found_[i];
    const auto bad = [&](const std::string& what) {
      return Error{ErrorCode::bad_input,
                   fmt::format("feature '{}' {}", wanted.name, what)};
    };
    if (found.record != record_) return bad("is missing");
    if (found.kind != wanted.kind) {
      return bad(fmt::format("holds {}; {} are wanted", name_of(found.kind),
                             name_of(wanted.kind)));
    }
    if (wanted.varies ? found.count > wanted.count
                      : found.count != wanted.count) {
      return bad(fmt::format("has {} {}; {}{} are wanted", found.count,
                             name_of(found.kind),
                             wanted.varies ? "at most " : "", wanted.count));
    }
    memory_[i].count = found.count;
  }
  return {};
}

}  // namespace plimsoll::io
