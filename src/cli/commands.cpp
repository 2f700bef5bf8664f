#include "cli/commands.h"

#include <fmt/core.h>

#include <fstream>
#include <iterator>

#include "base/environment.h"
#include "base/units.h"
#include "cli/devices.h"
#include "cli/output.h"
#include "cli/plan_json.h"
#include "cli/plan_text.h"
#include "cli/watch.h"
#include "device/cuda_device.h"
#include "train/calibration.h"
#include "train/cuda_profile.h"
#include "train/job_file/job_file.h"
#include "train/work_rehearsal.h"

namespace plimsoll::cli {
int run(const Message& message) {
  if (message.exit_code == kDone) return print_result(message.text, kDone);
  print(stderr, message.text);
  return message.exit_code;
}

int run(const DevicesCommand& command) {
  const auto memory = read_system_memory();
  if (!memory) return fail(memory.error());
  const auto budget = resolve_host_budget(
      {std::nullopt, environment_text("PLIMSOLL_HOST_MEMORY"), std::nullopt},
      *memory);
  if (!budget) return fail(budget.error());
  const CpuInfo cpu = read_cpu_info();
  const auto measured = [&](const std::string& device) {
    auto profile = train::cuda_profile(
        {device, DType::f32, cpu.usable_cores, command.calibrator});
    return profile && profile->measured ? std::optional(*std::move(profile))
                                        : std::nullopt;
  };
  const auto cuda =
      list_cuda(measured, environment_text("PLIMSOLL_DEVICE_MEMORY"));
  if (!cuda) return fail(cuda.error());
  return print_result(command.json ? devices_json(cpu, *memory, *budget, *cuda)
                                   : devices_text(cpu, *memory, *budget, *cuda),
                      kDone);
}

int run(const PlanCommand& command) {
  const JobArguments& arguments = command.job;
  const auto job = train::read_job_file(arguments.path, arguments.overrides);
  if (!job) return fail(job.error());
  const auto report = train::plan_job(*job, arguments.run);
  if (!report) return fail(report.error());
  const int exit_code = report->fits ? kDone : kDoesNotFit;
  if (!command.sweep) {
    std::string text = plan_json(*report);
    if (!command.json) {
      text = plan_text(arguments.path, arguments.typed, *report);
      if (command.layers) {
        text.append("\n").append(train::layers_text(report->layers));
      }
    }
    return print_result(text, exit_code);
  }
  const Sweep& sweep = *command.sweep;
  const auto rows =
      train::sweep_job(*job, arguments.run, sweep.key, sweep.from, sweep.to);
  if (!rows) return fail(rows.error());
  return print_result(command.json ? plan_json(*report, sweep, *rows)
                                   : fmt::format("{}: {}\n\n{}", arguments.path,
                                                 budgets_text(*report),
                                                 sweep_text(sweep, *rows)),
                      exit_code);
}

int run(const WatchCommand& command) {
  WatchOptions options;
  options.json_path = command.json_path;
  if (command.host_memory) {
    const auto memory = read_system_memory();
    if (!memory) return fail(memory.error());
    const auto bytes = parse_size(*command.host_memory, memory->total_bytes);
    if (!bytes) {
      return fail(
          {ErrorCode::bad_input, "--host-memory: " + bytes.error().message});
    }
    options.host_memory_bytes = *bytes;
  }
  return run_watch(options, command.command);
}

int run(const CalibrateCommand& command) {
  if (!command.work.empty()) {
    const auto cost = train::run_library_work(command.device, command.work);
    // What the library does not offer is an answer, too.
    if (!cost && cost.error().code != ErrorCode::unsupported) {
      return fail(cost.error());
    }
    return print_result(train::to_text(cost), kDone);
  }
  train::Rehearsal rehearsal;
  rehearsal.device = command.device;
  rehearsal.precision = parse_dtype(command.precision).value_or(DType::f32);
  rehearsal.threads = command.threads;
  rehearsal.more_layers = command.more_layers;
  rehearsal.spread = command.spread;
  rehearsal.products = command.products;
  rehearsal.convolutions = command.convolutions;
  rehearsal.tf32 = command.tf32;
  rehearsal.pinned = command.pinned;
  rehearsal.compiler = command.compiler;
  const auto measured = train::run_calibration(rehearsal);
  if (!measured) return fail(measured.error());
  return print_result(train::to_text(*measured), kDone);
}

int run(const CompileKernelCommand& command) {
  std::ifstream file(command.path, std::ios::binary);
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  if (!file) {
    return fail({ErrorCode::io, "cannot read " + command.path});
  }
  const auto module = open_cuda_module();
  if (!module) return fail(module.error());
  const auto code = (*module)->compile(source, command.architecture, 2);
  // What may not be run is kept too, for who asked.
  const bool kept = code || code.error().code == ErrorCode::unsupported;
  return kept ? kDone : fail(code.error());
}

}  // namespace plimsoll::cli
