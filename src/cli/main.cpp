#include <malloc.h>

#include <variant>

#include "cli/commands.h"

// This program can calibrate: planning runs it once on a new machine.
constexpr char kOwnPath[] = "/proc/self/exe";

int main(int argc, char** argv) {
  using namespace plimsoll::cli;
  // One heap for all threads: each further one would grow by itself.
  mallopt(M_ARENA_MAX, 1);
  CommandLine line =
      parse_command_line(std::vector<std::string>(argv + 1, argv + argc));
  if (auto* plan = std::get_if<PlanCommand>(&line))
    plan->job.run.calibrator = kOwnPath;
  if (auto* train = std::get_if<TrainCommand>(&line))
    train->job.run.calibrator = kOwnPath;
  return std::visit([](const auto& command) { return run(command); }, line);
}
