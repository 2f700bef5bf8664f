#include <malloc.h>

#include <variant>

#include "cli/commands.h"

// This program can calibrate and compile kernels: planning and training run it
// for what must not count as their own.
constexpr char kOwnPath[] = "/proc/self/exe";

int main(int argc, char** argv) {
  using namespace plimsoll::cli;
  // One heap for all threads: each further one would grow by itself.
  mallopt(M_ARENA_MAX, 1);
  CommandLine line =
      parse_command_line(std::vector<std::string>(argv + 1, argv + argc));
  if (auto* devices = std::get_if<DevicesCommand>(&line))
    devices->calibrator = kOwnPath;
  if (auto* plan = std::get_if<PlanCommand>(&line))
    plan->job.run.calibrator = plan->job.run.compiler = kOwnPath;
  if (auto* train = std::get_if<TrainCommand>(&line))
    train->job.run.calibrator = train->job.run.compiler = kOwnPath;
  if (auto* calibrate = std::get_if<CalibrateCommand>(&line))
    calibrate->compiler = kOwnPath;
  return std::visit([](const auto& command) { return run(command); }, line);
}
