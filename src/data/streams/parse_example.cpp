#include "data/streams/parse_example.h"

#include <fmt/core.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "data/check.h"

namespace plimsoll::data {
namespace {

// A parser remembers what it saw, so each serves one thread at a time.
struct alignas(64) Desk {
  std::atomic<bool> taken{false};
  std::unique_ptr<io::ExampleParser> parser;
};

class ParseExample final : public Map {
 public:
  ParseExample(std::vector<ExampleField> fields,
               const io::ExampleParser& parser)
      : fields_(std::move(fields)) {
    for (Desk& desk : desks_) {
      desk.parser = std::make_unique<io::ExampleParser>(parser);
    }
  }

  std::string name() const override { return "parse_example"; }

  Result<ElementSpec> bind(const ElementSpec& in) override {
    if (in.empty() || in[0].dtype != DType::u8 || in[0].shape.rank != 1) {
      return Error{ErrorCode::bad_input,
                   fmt::format("parse_example: elements of {}: the first field "
                               "must be a record, u8 [?]",
                               to_string(in))};
    }
    spec_.clear();
    for (const ExampleField& field : fields_) {
      FieldSpec made{field.name, DType::u8, field.shape, field.most};
      if (field.kind == io::FeatureKind::bytes) {
        made.shape = {kVaries};
        if (field.most == 0) made.most_bytes = in[0].most_bytes;
      } else {
        made.dtype =
            field.kind == io::FeatureKind::floats ? DType::f32 : DType::i64;
        const bool fixed = field.shape.is_fixed();
        made.most_bytes =
            size_of(made.dtype) * (fixed ? field.shape.elements() : field.most);
      }
      spec_.push_back(std::move(made));
    }
    return spec_;
  }

  bool writes(int) const override { return true; }

  Status apply(const Element& in, Element& out,
               std::span<std::byte* const> buffers,
               const MapContext&) const override {
    std::array<io::FeatureMemory, kMostFields> memory{};
    std::array<std::span<const std::byte>, kMostFields> texts{};
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      switch (fields_[i].kind) {
        case io::FeatureKind::floats:
          memory[i].floats = reinterpret_cast<float*>(buffers[i]);
          break;
        case io::FeatureKind::int64s:
          memory[i].int64s = reinterpret_cast<std::int64_t*>(buffers[i]);
          break;
        default:
          memory[i].bytes = &texts[i];
      }
    }
    Desk& desk = take_desk();
    Status status = desk.parser->parse(
        {in.values[0].data, static_cast<std::size_t>(in.values[0].bytes)},
        {memory.data(), fields_.size()});
    desk.taken.store(false, std::memory_order_release);
    PLIMSOLL_RETURN_IF_ERROR(std::move(status));
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      Value& value = out.values[i];
      if (fields_[i].kind == io::FeatureKind::bytes) {
        PLIMSOLL_RETURN_IF_ERROR(copy_bytes(i, texts[i], buffers[i]));
        value.bytes = static_cast<std::int64_t>(texts[i].size());
        value.shape = {value.bytes};
        continue;
      }
      const bool fixed = spec_[i].shape.is_fixed();
      value.bytes = memory[i].count * size_of(spec_[i].dtype);
      value.shape = fixed ? spec_[i].shape : Extents{memory[i].count};
    }
    return {};
  }

 private:
  Status copy_bytes(std::size_t field, std::span<const std::byte> text,
                    std::byte* to) const {
    if (static_cast<std::int64_t>(text.size()) > spec_[field].most_bytes) {
      return Error{
          ErrorCode::bad_input,
          fmt::format("feature {} has {} bytes: set its most, now {}, "
                      "to that or more",
                      spec_[field].name, text.size(), spec_[field].most_bytes)};
    }
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
    return {};
  }

  Desk& take_desk() const {
    for (std::size_t i = 0;; ++i) {
      Desk& desk = desks_[i % desks_.size()];
      if (!desk.taken.load(std::memory_order_relaxed) &&
          !desk.taken.exchange(true, std::memory_order_acquire)) {
        return desk;
      }
      if (i % desks_.size() + 1 == desks_.size()) std::this_thread::yield();
    }
  }

  std::vector<ExampleField> fields_;
  ElementSpec spec_;
  mutable std::array<Desk, 32> desks_;
};

}  // namespace

Result<std::shared_ptr<Map>> parse_example(std::vector<ExampleField> fields) {
  constexpr std::int64_t kMostValues = std::int64_t{1} << 40;
  if (fields.empty() || fields.size() > kMostFields) {
    return Error{ErrorCode::bad_input,
                 fmt::format("parse_example: {} features: 1 to {} can be",
                             fields.size(), kMostFields)};
  }
  io::ExampleSpec spec;
  for (const ExampleField& field : fields) {
    const auto bad = [&](const std::string& what) {
      return Error{ErrorCode::bad_input,
                   fmt::format("parse_example: feature {} {}: {}", field.name,
                               to_string(field.shape), what)};
    };
    if (field.most < 0 || field.most > kMostValues) {
      return bad("its most must be 0 to 2^40");
    }
    if (field.kind == io::FeatureKind::bytes) {
      spec.push_back({field.name, field.kind, 1, false});
      continue;
    }
    if (!field.shape.is_fixed()) {
      if (field.shape.rank != 1 || field.most == 0) {
        return bad("what varies must be of one axis, with its most given");
      }
      spec.push_back({field.name, field.kind, field.most, true});
      continue;
    }
    std::int64_t values = 1;
    for (int axis = 0; axis < field.shape.rank; ++axis) {
      if (field.shape[axis] < 0 ||
          __builtin_mul_overflow(values, field.shape[axis], &values) ||
          values > kMostValues) {
        return bad("more than 2^40 values");
      }
    }
    spec.push_back({field.name, field.kind, values, false});
  }
  PLIMSOLL_ASSIGN(const io::ExampleParser parser,
                  io::ExampleParser::create(std::move(spec)));
  return std::shared_ptr<Map>(
      std::make_shared<ParseExample>(std::move(fields), parser));
}

}  // namespace plimsoll::data
