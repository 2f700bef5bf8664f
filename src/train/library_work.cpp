#include "train/library_work.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "base/units.h"
#include "device/cpu/process_memory.h"

namespace plimsoll::train {
namespace {

using cuda::Attention;
using cuda::AveragePoolGrad;
using cuda::Convolution;
using cuda::Normalization;
using cuda::Product;
using cuda::Stage;

// In the order of the kinds. A kind is what a line begins with: work of another
// kind is rehearsed.
constexpr std::array<std::string_view, 3> kNormalizations = {
    "batch_norm", "layer_norm", "rms_norm"};

// The same order for writing and reading.
template <class Visit>
void each_number(Product& product, const Visit& visit) {
  visit(product.batch);
  visit(product.m);
  visit(product.n);
  visit(product.k);
  visit(product.a_row);
  visit(product.b_row);
  visit(product.out_row);
  visit(product.a_batch);
  visit(product.b_batch);
  visit(product.workspace_bytes);
  visit(product.tf32);
  visit(product.transpose_a);
  visit(product.transpose_b);
  visit(product.bias);
  visit(product.relu);
  visit(product.accumulate);
}

template <class Visit>
void each_number(Convolution& convolution, const Visit& visit) {
  for (auto* list :
       {&convolution.x, &convolution.w, &convolution.y, &convolution.padding}) {
    for (std::int64_t& number : *list) visit(number);
  }
  for (auto* list : {&convolution.strides, &convolution.dilations}) {
    for (std::int64_t& number : *list) visit(number);
  }
  visit(convolution.workspace_bytes);
  visit(convolution.tf32);
}

template <class Visit>
void each_number(Attention& attention, const Visit& visit) {
  for (std::int64_t* number :
       {&attention.batch, &attention.queries, &attention.keys, &attention.heads,
        &attention.key_heads, &attention.width, &attention.part_batch,
        &attention.part_heads, &attention.workspace_bytes,
        &attention.levels_offset_bytes}) {
    visit(*number);
  }
  visit(attention.scale);
  visit(attention.causal);
  visit(attention.backward);
}

template <class Visit>
void each_number(Normalization& normalization, const Visit& visit) {
  for (std::int64_t& number : normalization.x) visit(number);
  visit(normalization.workspace_bytes);
  visit(normalization.epsilon);
  visit(normalization.backward);
}

template <class Visit>
void each_number(AveragePoolGrad& pooling, const Visit& visit) {
  for (auto* list : {&pooling.images, &pooling.result, &pooling.padding}) {
    for (std::int64_t& number : *list) visit(number);
  }
  for (auto* list : {&pooling.window, &pooling.strides}) {
    for (std::int64_t& number : *list) visit(number);
  }
  visit(pooling.workspace_bytes);
}

template <class Work>
std::string numbers_of(Work work) {
  std::string text;
  each_number(work, [&](auto number) { text += fmt::format(" {}", +number); });
  return text;
}

std::string line_of(const Product& product) {
  return fmt::format("product {} {}{}", name_of(product.operands),
                     name_of(product.output), numbers_of(product));
}

std::string line_of(const Convolution& convolution) {
  return fmt::format("convolution {} {}{}", static_cast<int>(convolution.kind),
                     name_of(convolution.dtype), numbers_of(convolution));
}

std::string line_of(const Attention& attention) {
  return fmt::format("attention {}{}", name_of(attention.dtype),
                     numbers_of(attention));
}

std::string line_of(const Normalization& normalization) {
  return fmt::format(
      "{} {}{}", kNormalizations[static_cast<std::size_t>(normalization.kind)],
      name_of(normalization.dtype), numbers_of(normalization));
}

std::string line_of(const AveragePoolGrad& pooling) {
  return fmt::format("average_pool_grad {}{}", name_of(pooling.dtype),
                     numbers_of(pooling));
}

std::string line_of(const cuda::Function&) { return {}; }

template <class Work>
bool read_numbers(std::istream& words, Work& work) {
  each_number(work, [&](auto& number) { words >> number; });
  return !words.fail();
}

bool read_dtype(std::istream& words, DType& dtype) {
  std::string name;
  words >> name;
  const auto known = parse_dtype(name);
  if (known) dtype = *known;
  return known.has_value();
}

bool read(std::istream& words, Product& product) {
  return read_dtype(words, product.operands) &&
         read_dtype(words, product.output) && read_numbers(words, product);
}

bool read(std::istream& words, Convolution& convolution) {
  int kind = -1;
  words >> kind;
  if (kind < 0 || kind > static_cast<int>(Convolution::Kind::weight_grad)) {
    return false;
  }
  convolution.kind = static_cast<Convolution::Kind>(kind);
  return read_dtype(words, convolution.dtype) &&
         read_numbers(words, convolution);
}

bool read(std::istream& words, Attention& attention) {
  return read_dtype(words, attention.dtype) && read_numbers(words, attention);
}

bool read(std::istream& words, Normalization& normalization) {
  return read_dtype(words, normalization.dtype) &&
         read_numbers(words, normalization);
}

bool read(std::istream& words, AveragePoolGrad& pooling) {
  return read_dtype(words, pooling.dtype) && read_numbers(words, pooling);
}

template <class Work>
bool read_as(std::istream& words, Stage& stage) {
  Work work;
  if (!read(words, work)) return false;
  stage = work;
  return true;
}

bool read(std::istream& words, const std::string& kind, Stage& stage) {
  if (kind == "product") return read_as<Product>(words, stage);
  if (kind == "convolution") return read_as<Convolution>(words, stage);
  if (kind == "attention") return read_as<Attention>(words, stage);
  for (std::size_t i = 0; i < kNormalizations.size(); ++i) {
    if (kind != kNormalizations[i]) continue;
    if (!read_as<Normalization>(words, stage)) return false;
    std::get<Normalization>(stage).kind = static_cast<Normalization::Kind>(i);
    return true;
  }
  if (kind == "average_pool_grad")
    return read_as<AveragePoolGrad>(words, stage);
  return false;
}

std::int64_t largest_operand_bytes(const Product& product) {
  const auto bytes = [&](std::int64_t rows, std::int64_t columns,
                         std::int64_t row, std::int64_t from_batch,
                         DType dtype) {
    return size_of(dtype) *
           (rows * std::max(row, columns) + (product.batch - 1) * from_batch);
  };
  const bool ta = product.transpose_a;
  const bool tb = product.transpose_b;
  return std::max({bytes(ta ? product.k : product.m, ta ? product.m : product.k,
                         product.a_row, product.a_batch, product.operands),
                   bytes(tb ? product.n : product.k, tb ? product.k : product.n,
                         product.b_row, product.b_batch, product.operands),
                   bytes(product.m, product.n, product.out_row,
                         product.m * product.n, product.output)});
}

std::int64_t elements_of(const std::array<std::int64_t, 4>& extents) {
  return extents[0] * extents[1] * extents[2] * extents[3];
}

std::int64_t largest_operand_bytes(const Convolution& convolution) {
  std::int64_t most = 0;
  for (const auto& extents : {convolution.x, convolution.w, convolution.y}) {
    most = std::max(most, elements_of(extents));
  }
  return most * size_of(convolution.dtype);
}

std::int64_t largest_operand_bytes(const Attention& attention) {
  return attention.batch * std::max(attention.queries, attention.keys) *
         attention.heads *
         std::max(attention.width * size_of(attention.dtype),
                  size_of(DType::f32));
}

std::int64_t largest_operand_bytes(const Normalization& normalization) {
  const auto& [b, h, w, c] = normalization.x;
  return std::max(b * h * w, std::int64_t{1}) * c * size_of(DType::f32);
}

std::int64_t largest_operand_bytes(const AveragePoolGrad& pooling) {
  return std::max(elements_of(pooling.images), elements_of(pooling.result)) *
         size_of(pooling.dtype);
}

template <class Work>
std::int64_t scratch_bytes(const Work& work) {
  return work.workspace_bytes;
}

std::int64_t scratch_bytes(const Attention& attention) {
  return std::max(attention.workspace_bytes, attention.levels_offset_bytes) +
         attention.part_batch * attention.part_heads * attention.queries *
             size_of(DType::f32);
}

// What the work needs: operands may lie on each other, and on results of
// convolutions, since what is computed does not matter, but not on a workspace:
// kernels wait there for each other.
struct Places {
  std::int64_t operand_bytes = 0;
  std::int64_t workspace_bytes = 0;

  explicit Places(const std::vector<Stage>& work) {
    for (const Stage& stage : work) {
      std::visit([this](const auto& one) { add(one); }, stage);
    }
  }
  std::int64_t bytes() const { return 2 * operand_bytes + workspace_bytes; }

 private:
  void add(const cuda::Function&) {}
  template <class Work>
  void add(const Work& work) {
    operand_bytes = std::max(
        operand_bytes, round_up(largest_operand_bytes(work), kPlaceBytes));
    workspace_bytes = std::max(workspace_bytes, scratch_bytes(work));
  }
  static constexpr std::int64_t kPlaceBytes = 256;
};

// Room on the device that goes with its owner.
class Room {
 public:
  Room(CudaDevice& device, std::int64_t bytes)
      : device_(device),
        bytes_(round_up(bytes, std::int64_t{2} * kMiB)),
        start_(static_cast<std::byte*>(device.memory().map(bytes_))) {}
  ~Room() {
    if (start_ != nullptr) device_.memory().unmap(start_, bytes_);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  std::byte* start() const { return start_; }

 private:
  CudaDevice& device_;
  std::int64_t bytes_;
  std::byte* start_;
};

}  // namespace

Status add_library_work(const graph::LoweredGraph& program,
                        const ops::CudaCatalog& catalog,
                        std::vector<Stage>& work) {
  for (const graph::Instruction& step : program.instructions) {
    if (!ops::uses_product_library(step.kernel) &&
        !ops::uses_layer_library(step.kernel)) {
      continue;
    }
    PLIMSOLL_ASSIGN(const cuda::OpCode code, catalog.code(step));
    for (const Stage& stage : code.stages) {
      if (!std::holds_alternative<cuda::Function>(stage)) work.push_back(stage);
    }
  }
  return {};
}

bool is_compiled(const Stage& stage) {
  return std::holds_alternative<Attention>(stage) ||
         std::holds_alternative<Normalization>(stage) ||
         std::holds_alternative<AveragePoolGrad>(stage);
}

Result<std::vector<std::unique_ptr<CudaWork>>> compile_layers(
    CudaDevice& device, const std::vector<Stage>& work) {
  std::vector<std::unique_ptr<CudaWork>> made;
  for (const Stage& stage : work) {
    if (!is_compiled(stage)) continue;
    PLIMSOLL_ASSIGN(made.emplace_back(), device.prepare(stage));
  }
  return made;
}

std::string to_text(const std::vector<Stage>& work) {
  std::map<std::string, int> lines;
  for (const Stage& stage : work) {
    ++lines[std::visit([](const auto& one) { return line_of(one); }, stage)];
  }
  std::string text;
  for (const auto& [line, times] : lines) {
    text += fmt::format("{} {}\n", times, line);
  }
  return text;
}

Result<std::vector<Stage>> library_work_from_text(const std::string& text) {
  std::vector<Stage> work;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::size_t times = 0;
    std::string kind;
    words >> times >> kind;
    Stage stage;
    std::string rest;
    if (!read(words, kind, stage) || (words >> rest)) {
      return Error{ErrorCode::bad_input,
                   fmt::format("\"{}\" is no work of a library", line)};
    }
    work.insert(work.end(), times, stage);
  }
  return work;
}

Result<LibraryCost> measure_library_work(CudaDevice& device, DeviceMeter& meter,
                                         const std::vector<Stage>& work) {
  PLIMSOLL_ASSIGN(const auto stream, device.make_stream());
  const Places places(work);
  const Room room(device, places.bytes());
  std::byte* const place = room.start();
  if (place != nullptr) {
    PLIMSOLL_RETURN_IF_ERROR(stream->clear(place, places.bytes()));
  }
  constexpr std::size_t kMostOperands = 8;
  std::array<const void*, kMostOperands> inputs;
  std::array<void*, kMostOperands> outputs;
  inputs.fill(place);
  outputs.fill(place + places.operand_bytes);
  std::byte* const workspace = place + 2 * places.operand_bytes;
  PLIMSOLL_ASSIGN(const ProcessMemory before, read_process_memory(getpid()));
  // Compiling an engine takes more than the engine.
  const bool sees_peak = restart_peak_rss();
  const std::int64_t held = meter.read();
  // All of it is prepared, recorded and kept, as in a job.
  PLIMSOLL_ASSIGN(const auto compiled, compile_layers(device, work));
  std::vector<std::unique_ptr<CudaWork>> prepared;
  for (const Stage& stage : work) {
    PLIMSOLL_ASSIGN(prepared.emplace_back(), device.prepare(stage));
  }
  const auto launch_all = [&]() -> Status {
    for (const auto& one : prepared) {
      PLIMSOLL_RETURN_IF_ERROR(
          one->launch(*stream, inputs.data(), outputs.data(), workspace));
    }
    return {};
  };
  std::unique_ptr<CudaRecording> recording;
  if (place != nullptr) {
    PLIMSOLL_ASSIGN(recording, device.record(*stream, launch_all));
    PLIMSOLL_RETURN_IF_ERROR(recording->launch(*stream));
    PLIMSOLL_RETURN_IF_ERROR(stream->synchronize());
  }
  PLIMSOLL_ASSIGN(const ProcessMemory after, read_process_memory(getpid()));
  PLIMSOLL_ASSIGN(const ProcessStatus status, read_process_status(getpid()));
  const std::int64_t most =
      std::max(after.resident_bytes(),
               sees_peak ? status.peak_rss_bytes + after.swap_bytes : 0);
  return LibraryCost{std::max<std::int64_t>(most - before.resident_bytes(), 0),
                     std::max<std::int64_t>(meter.read() - held, 0)};
}

}  // namespace plimsoll::train
