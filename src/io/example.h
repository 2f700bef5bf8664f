// tf.train.Example, read straight from a record's bytes: numbers are copied to
// where they are wanted, bytes stay where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::io {

enum class FeatureKind : std::uint8_t { none, bytes, floats, int64s };

std::string_view name_of(FeatureKind kind);

struct FeatureSpec {
  std::string name;
  FeatureKind kind = FeatureKind::floats;
  std::int64_t count = 1;  // of values, exactly; where it varies, at most
  bool varies = false;
};

using ExampleSpec = std::vector<FeatureSpec>;

// Where a feature's values go: the pointer of its kind has room for `count` of
// its spec. Without a pointer they are checked and counted only.
struct FeatureMemory {
  float* floats = nullptr;
  std::int64_t* int64s = nullptr;
  std::span<const std::byte>* bytes = nullptr;  // spans into the record
  std::int64_t count = 0;                       // found; set by parse()
};

// Remembers in which order the features came last; one for each thread.
class ExampleParser {
 public:
  // Names must differ, kinds be given and counts not be negative.
  static Result<ExampleParser> create(ExampleSpec spec);

  const ExampleSpec& spec() const { return spec_; }

  // `memory` has an entry for each feature of the spec. Errors say what is
  // wrong with the record, not which record it is: the caller adds that. After
  // an error the values are not defined.
  Status parse(std::span<const std::byte> record,
               std::span<FeatureMemory> memory);

 private:
  struct Wire;
  struct Found {
    std::uint64_t record = 0;  // in which it was seen last
    FeatureKind kind = FeatureKind::none;
    std::int64_t count = 0;
  };

  explicit ExampleParser(ExampleSpec spec);
  int feature_of(std::string_view name);
  bool parse_features(Wire& features);
  bool parse_entry(Wire& entry);
  bool parse_value(Wire& value, std::size_t feature);
  bool parse_floats(Wire& list, std::size_t feature);
  bool parse_int64s(Wire& list, std::size_t feature);
  bool parse_bytes(Wire& list, std::size_t feature);
  bool malformed_at(const Wire& wire);
  Status check() const;

  ExampleSpec spec_;
  std::vector<Found> found_;
  std::uint64_t record_ = 0;
  // follower_[i + 1]: what came behind feature i last; [0]: what came first.
  std::vector<std::size_t> follower_;
  std::size_t previous_ = 0;  // index into follower_
  std::span<FeatureMemory> memory_;
  const unsigned char* bad_at_ = nullptr;
};

}  // namespace plimsoll::io
