#include "train/planned_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "data/reader_thread.h"
#include "data/sets/resident_set.h"
#include "graph/passes/recompute.h"
#include "graph/remembered_kernels.h"
#include "memory/capped_resource.h"
#include "ops/cuda_kernels.h"
#include "ops/standard_ops.h"
#include "plan/validator.h"
#include "train/compiled_layers.h"
#include "train/data_notes.h"
#include "train/library_work.h"

namespace plimsoll::train {
namespace {

class JobPlanner {
 public:
  JobPlanner(const JobSpec& job, const JobData& data, Machine& machine)
      : job_(job),
        data_(data),
        machine_(machine),
        home_kernels_(machine.catalog()) {}

  Result<PlannedJob> run() {
    PLIMSOLL_ASSIGN(
        planned_.graphs,
        build_step_graphs(job_.model, job_.train,
                          shape_of(data_.first().labels_field().shape),
                          machine_.home(), index_type(job_, data_)));
    for (std::string& note : notes_on_data(job_, data_)) {
      planned_.graphs.notes.push_back(std::move(note));
    }
    for (std::size_t i = 0; i < kStages; ++i) {
      if (!data_.inputs[i]) continue;
      const auto stage = static_cast<Stage>(i);
      PLIMSOLL_RETURN_IF_ERROR(add_programs(stage));
      PLIMSOLL_RETURN_IF_ERROR(add_feed(stage));
    }
    planned_.graph_values += 3 * values_of(planned_.graphs.train);
    PLIMSOLL_RETURN_IF_ERROR(check_placement());
    PLIMSOLL_RETURN_IF_ERROR(measure_libraries());
    set_needs();
    PLIMSOLL_ASSIGN(planned_.plan,
                    plan::lay_out(planned_.needs, std::move(plans_),
                                  machine_.fingerprint()));
    cover_planning();
    estimate_times();
    return std::move(planned_);
  }

 private:
  const graph::Graph& graph_of(Stage stage) const {
    switch (stage) {
      case Stage::train:
        return planned_.graphs.train;
      case Stage::evaluate:
        return planned_.graphs.evaluate;
      case Stage::predict:
        break;
    }
    return planned_.graphs.predict;
  }

  std::int64_t alignment_bytes() const {
    const DeviceProfile* device = machine_.device_profile();
    return device ? device->alignment_bytes : plan::kBufferAlignment;
  }

  graph::PlaceCatalogs catalogs() const {
    graph::PlaceCatalogs catalogs = home_kernels_;
    if (const DeviceProfile* device = machine_.device_profile()) {
      catalogs.host = &machine_.kernels();
      catalogs.to_host_bytes_per_second = device->copy_to_host_bytes_per_second;
      catalogs.from_host_bytes_per_second =
          device->copy_to_device_bytes_per_second;
    }
    return catalogs;
  }

  // What crosses between the device and layers on the host, in a step.
  Status check_placement() {
    if (!is_mixed()) return {};
    if (!machine_.pins_memory()) {
      return Error{ErrorCode::bad_input,
                   "memory.pinned: layers on the CPU beside a device need "
                   "pinned memory; leave it on"};
    }
    std::int64_t up = 0;
    std::int64_t down = 0;
    for (const auto& step : planned_.programs[0].lowered.instructions) {
      if (!step.transfer) continue;
      (step.place == graph::Place::host ? down : up) +=
          step.output_types[0].bytes();
    }
    planned_.graphs.notes.push_back(fmt::format(
        "Layers run on the CPU beside {}: in a step {} go to the device and {} "
        "come back, beside the input.",
        machine_.home(), format_bytes(up), format_bytes(down)));
    return {};
  }

  bool is_mixed() const {
    return std::any_of(planned_.programs.begin(), planned_.programs.end(),
                       [](const PlannedProgram& program) {
                         return program.lowered.is_mixed();
                       });
  }

  // A full batch, and the last partial one where the set does not divide.
  Status add_programs(Stage stage) {
    const std::int64_t batch = job_.train.batch;
    const std::int64_t examples = data_.input(stage).examples();
    const std::string name = name_of(stage);
    StagePrograms& programs = planned_.stages[static_cast<std::size_t>(stage)];
    const bool counted = examples != data::kUnknownCount;
    if (!counted || examples >= batch) {
      programs.full = static_cast<int>(plans_.size());
      PLIMSOLL_RETURN_IF_ERROR(add_program(name, graph_of(stage), batch));
    }
    if (counted && examples % batch != 0) {
      programs.tail = static_cast<int>(plans_.size());
      PLIMSOLL_RETURN_IF_ERROR(
          add_program(name + "-tail", graph_of(stage), examples % batch));
    }
    if (stage == Stage::train && job_.train.accumulation_steps > 1) {
      programs.update = static_cast<int>(plans_.size());
      PLIMSOLL_RETURN_IF_ERROR(
          add_program(name + "-update", planned_.graphs.update, 1));
    }
    return {};
  }

  Status add_program(const std::string& name, const graph::Graph& graph,
                     std::int64_t batch) {
    PlannedProgram program;
    PLIMSOLL_ASSIGN(program.lowered,
                    graph::lower(graph::recompute(graph, batch, home_kernels_,
                                                  machine_.device_profile()
                                                      ? graph::kMadeAgain
                                                      : graph::kMadeAgainOnCpu),
                                 batch, catalogs(), ops::standard_ops()));
    CappedResource memory(machine_.planning_memory(),
                          machine_.planning_cap_bytes());
    PLIMSOLL_ASSIGN(auto plan,
                    plan::plan_program(program.lowered, name,
                                       {&memory, alignment_bytes()}));
    PLIMSOLL_RETURN_IF_ERROR(
        plan::validate(program.lowered, plan, alignment_bytes()));
    for (const graph::State& state : graph.states) {
      program.job_state.push_back(state_index(state, graph.type(state.value)));
    }
    count_kernels(program.lowered);
    planned_.numerics_key =
        stable_hash(hash_text(plan.numerics_key), planned_.numerics_key);
    planned_.graph_values += values_of(graph);
    planned_.programs.push_back(std::move(program));
    plans_.push_back(std::move(plan));
    return {};
  }

  // A name of 256 letters weighs as much as what else there is of a value.
  static std::int64_t values_of(const graph::Graph& graph) {
    constexpr std::int64_t kName = 256;
    std::int64_t letters = 0;
    for (const graph::Value& value : graph.values) {
      letters += static_cast<std::int64_t>(value.name.size());
    }
    return std::ssize(graph.values) + letters / kName;
  }

  // On the CPU equal instructions share a kernel; see runtime::Program.
  void count_kernels(const graph::LoweredGraph& lowered) {
    std::set<std::string> known;
    for (const graph::Instruction& step : lowered.instructions) {
      const bool home = step.place == graph::Place::home;
      const bool shared = !home || !machine_.device_profile();
      if (shared && !known.insert(step.kernel_identity()).second) continue;
      (home ? kernel_bytes_ : host_kernel_bytes_) += step.kernel.private_bytes;
    }
  }

  int state_index(const graph::State& state, const graph::TensorType& type) {
    auto& states = planned_.needs.states;
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (states[i].name == state.name) return static_cast<int>(i);
    }
    states.push_back({state.name, state.role, type, state.place});
    return static_cast<int>(states.size()) - 1;
  }

  Status add_feed(Stage stage) {
    const auto i = static_cast<std::size_t>(stage);
    const int full = planned_.programs_of(stage).full;
    PLIMSOLL_ASSIGN(
        planned_.feeds[i],
        plan_feed(
            {job_, data_, machine_, stage, planned_.graphs,
             full < 0
                 ? 0
                 : plans_[static_cast<std::size_t>(full)].compute_seconds}));
    if (data_.resident) {
      planned_.needs.user_bytes += data::ResidentSet::bytes_needed(
          *data_.sources[i], machine_.host().granularity_bytes());
    }
    return {};
  }

  std::int64_t instructions() const {
    std::size_t count = 0;
    for (const PlannedProgram& program : planned_.programs) {
      count += program.lowered.instructions.size();
    }
    return static_cast<std::int64_t>(count);
  }

  // Of all stages: they start with the job.
  std::int64_t pipeline_threads() const {
    std::int64_t threads = 0;
    for (const Feed& feed : planned_.feeds) threads += feed.layout.readers;
    for (const auto& input : data_.inputs) {
      if (input && input->input.workers) {
        threads += input->input.workers->threads();
      }
    }
    return threads;
  }

  void set_needs() {
    plan::JobNeeds& needs = planned_.needs;
    // Stages never run at the same time: their feeds share the memory.
    std::int64_t staging = 0;
    std::int64_t all = 0;
    for (const Feed& feed : planned_.feeds) {
      staging = std::max(staging, feed.layout.slots * feed.layout.slot_bytes);
      all = std::max(all, feed.layout.total_bytes);
    }
    needs.slots = 1;
    needs.slot_bytes = staging;
    needs.pipeline_bytes = all - staging;
    needs.page_bytes = machine_.host().granularity_bytes();
    const DeviceProfile& profile = machine_.profile();
    const DeviceProfile* device = machine_.device_profile();
    needs.runtime_floor_bytes =
        device ? host_floor_beside(*device)
               : profile.runtime_floor_bytes +
                     profile.instruction_bytes * instructions();
    needs.runtime_floor_bytes +=
        convolution_code_bytes() +
        pipeline_threads() * data::ReaderThread::kTouchedBytes;
    for (const auto& source : data_.sources) {
      if (source) needs.runtime_floor_bytes += source->held_bytes();
    }
    needs.allowance_bytes = profile.allowance_bytes;
    // Seen: 8 MiB more than the rehearsals of GPT-2's products and attention
    // gave, 6 more than those of U-Net's convolutions in f32. Rehearsals of
    // engines that are compiled gave more than jobs take, but not after earlier
    // processes had used the same ones.
    constexpr std::int64_t kRehearsalAllowanceBytes = 16 * kMiB;
    if (device) needs.allowance_bytes += kRehearsalAllowanceBytes;
    needs.kernel_bytes = device ? host_kernel_bytes_ : kernel_bytes_;
    if (device) needs.device = device_needs(*device);
  }

  Status measure_libraries() {
    if (!machine_.library_measure()) return {};
    std::vector<cuda::Stage> work;
    for (const PlannedProgram& program : planned_.programs) {
      PLIMSOLL_RETURN_IF_ERROR(
          add_library_work(program.lowered, machine_.cuda_catalog(), work));
    }
    library_cost_ = LibraryCost();
    if (work.empty()) return {};
    PLIMSOLL_ASSIGN(library_cost_,
                    machine_.library_measure()(to_text(work), job_hash()));
    return {};
  }

  // The same for all batches that are planned alike.
  std::string job_hash() const {
    std::uint64_t hash = stable_hash("job");
    for (const graph::Node& node : planned_.graphs.train.nodes) {
      hash = stable_hash(
          fmt::format("{} {}", node.op->name, node.attrs.to_string()), hash);
      for (const graph::ValueId id : node.outputs) {
        hash = stable_hash(planned_.graphs.train.type(id).to_string(), hash);
      }
    }
    return hash_text(hash);
  }

  std::int64_t library_bytes(const DeviceProfile& device) const {
    if (library_cost_) return library_cost_->host_bytes;
    return (uses(ops::uses_product_library) ? device.host_product_bytes : 0) +
           (uses(ops::uses_library_convolution) ? device.host_convolution_bytes
                                                : 0) +
           compiled_layer_bytes(planned_.programs);
  }

  template <class Asked>
  bool any_instruction(const Asked& asked) const {
    return std::any_of(planned_.programs.begin(), planned_.programs.end(),
                       [&](const PlannedProgram& program) {
                         const auto& steps = program.lowered.instructions;
                         return std::any_of(steps.begin(), steps.end(), asked);
                       });
  }

  bool uses(bool (*library)(const graph::KernelCandidate&)) const {
    return any_instruction(
        [&](const graph::Instruction& step) { return library(step.kernel); });
  }

  // Of the library of layers on the device: its code, and memory that some of
  // its kernels have for all threads. The last granule may be nearly full.
  std::int64_t device_layer_bytes(const DeviceProfile& device) const {
    if (!uses(ops::uses_layer_library)) return 0;
    const std::int64_t rehearsed =
        library_cost_ ? library_cost_->device_bytes + device.granularity_bytes
                      : 0;
    return std::max(device.device_convolution_bytes, rehearsed);
  }

  // Of the CPU's library, in memory from planning on.
  std::int64_t convolution_code_bytes() const {
    const bool asked = any_instruction([](const graph::Instruction& step) {
      return !step.input_types.empty() &&
             ops::asks_onednn_convolution(step.kernel,
                                          step.input_types[0].dtype);
    });
    return asked ? machine_.profile().host_convolution_bytes : 0;
  }

  std::int64_t host_floor_beside(const DeviceProfile& device) const {
    return device.host_floor_bytes + library_bytes(device) +
           (is_mixed() ? machine_.profile().runtime_floor_bytes : 0) +
           std::max(device.instruction_bytes,
                    machine_.profile().instruction_bytes) *
               instructions();
  }

  // Copies run ahead while the device computes; further ahead is no gain.
  static constexpr int kMostInputSlots = 4;
  plan::DeviceNeeds device_needs(const DeviceProfile& device) const {
    plan::DeviceNeeds needs;
    needs.alignment_bytes = device.alignment_bytes;
    needs.granularity_bytes = device.granularity_bytes;
    for (const Feed& feed : planned_.feeds) {
      const int least = feed.layout.readers > 0 ? 2 : 1;
      needs.input_slots =
          std::max({needs.input_slots,
                    std::min(feed.layout.slots, kMostInputSlots), least});
      needs.input_slot_bytes =
          std::max(needs.input_slot_bytes, feed.layout.slot_bytes);
    }
    needs.runtime_floor_bytes =
        device.runtime_floor_bytes +
        device.device_instruction_bytes * instructions() +
        device_layer_bytes(device);
    needs.kernel_bytes = kernel_bytes_;
    needs.allowance_bytes = device.allowance_bytes;
    return needs;
  }

  // A deep graph over small tensors is at its peak while it is planned, before
  // there are any pools: that, too, is the runtime's.
  void cover_planning() {
    const DeviceProfile& profile = machine_.profile();
    plan::SpaceForecast& host = planned_.plan.host;
    const std::int64_t planning =
        profile.planning_floor_bytes +
        profile.planning_value_bytes * planned_.graph_values +
        convolution_code_bytes() + profile.allowance_bytes;
    if (planning <= host.peak_bytes) return;
    host.accounts[static_cast<std::size_t>(Purpose::runtime)] +=
        planning - host.peak_bytes;
    host.peak_bytes = planning;
  }

  void estimate_times() {
    // About what one reader makes or copies a second, seen on a server core.
    constexpr double kRandomBytesPerSecond = 12e9;
    constexpr double kReadBytesPerSecond = 3e9;
    const JobInput& input = data_.first();
    const Feed& feed = planned_.feed(Stage::train);
    const double bytes = static_cast<double>(
        job_.train.batch *
        (input.features_field().most_bytes + input.labels_field().most_bytes));
    planned_.compute_seconds = planned_.plan.programs[0].compute_seconds;
    if (const int update = planned_.programs_of(Stage::train).update;
        update >= 0) {
      planned_.compute_seconds +=
          planned_.plan.programs[static_cast<std::size_t>(update)]
              .compute_seconds /
          static_cast<double>(job_.train.accumulation_steps);
    }
    if (feed.layout.borrows_all()) {
      planned_.input_seconds = 0;
    } else {
      planned_.input_seconds =
          bytes / (job_.data.source.name == "random" && !data_.resident
                       ? kRandomBytesPerSecond
                       : kReadBytesPerSecond);
    }
    if (const DeviceProfile* device = machine_.device_profile()) {
      planned_.exact = device->measured;
      if (!device->note.empty()) planned_.graphs.notes.push_back(device->note);
      planned_.copy_seconds = static_cast<double>(feed.layout.slot_bytes) /
                              device->copy_to_device_bytes_per_second;
    }
    planned_.step_seconds =
        step_seconds(feed.options.readers > 0, planned_.input_seconds,
                     planned_.copy_seconds, planned_.compute_seconds);
  }

  const JobSpec& job_;
  const JobData& data_;
  Machine& machine_;
  const graph::RememberedKernels home_kernels_;
  PlannedJob planned_;
  std::vector<plan::ProgramPlan> plans_;
  std::int64_t kernel_bytes_ = 0;            // at home
  std::int64_t host_kernel_bytes_ = 0;       // beside a device
  std::optional<LibraryCost> library_cost_;  // where measured
};

}  // namespace

double step_seconds(bool ahead, double input, double copy, double compute) {
  return ahead ? std::max({input, copy, compute}) : input + copy + compute;
}

Result<PlannedJob> plan_programs(const JobSpec& job, const JobData& data,
                                 Machine& machine) {
  if (job.train.batch < 1) {
    return Error{ErrorCode::bad_input,
                 fmt::format("train.batch: must be at least 1, not {}",
                             job.train.batch)};
  }
  for (const auto& input : data.inputs) {
    if (input && input->examples() == 0) {
      return Error{ErrorCode::bad_input,
                   input->input.description + ": there is no example in it"};
    }
  }
  Result<PlannedJob> planned = Error{};
  // Candidates must be judged where they will run: with the arena's threads.
  machine.threads().enter([&] {
    planned = JobPlanner(job, data, machine).run();
    // Perhaps the library here has no engine for one of its layers.
    if (!planned && planned.error().code == ErrorCode::unsupported &&
        machine.use_own_layers()) {
      planned = JobPlanner(job, data, machine).run();
    }
  });
  return planned;
}

}  // namespace plimsoll::train
