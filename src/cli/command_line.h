// The command line as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "train/trainer.h"

namespace plimsoll::cli {

struct DevicesCommand {
  bool json = false;
  std::string calibrator;  // as RunOptions has it
};

// What `plan` and `train` share: which job, and what is said over it.
struct JobArguments {
  std::string path;
  std::vector<std::string> overrides;  // dotted.key=value, the last one wins
  train::RunOptions run;
  std::string typed;  // the whole command as typed, quoted for a shell
};

struct Sweep {
  std::string key;  // batch, examples
  std::int64_t from = 1;
  std::int64_t to = 1;
};

struct PlanCommand {
  JobArguments job;
  std::optional<Sweep> sweep;
  bool json = false;
  bool layers = false;
};

struct TrainCommand {
  JobArguments job;
  std::string run_dir;  // empty: one is chosen
  bool resume = false;
  bool quiet = false;
};

struct WatchCommand {
  std::optional<std::string> host_memory;
  std::string json_path;
  std::vector<std::string> command;
};

// Not for people: run by planning in a process of its own.
struct CalibrateCommand {
  int threads = 1;
  int more_layers = 0;
  std::string device = "cpu";
  std::string precision = "f32";
  bool spread = false;
  bool products = true;
  bool convolutions = false;
  bool tf32 = false;
  bool pinned = true;
  std::string work;  // a file: measure this work of libraries instead
  std::string compiler;
};

// For the program itself: a kernel's source to code in the user's cache.
struct CompileKernelCommand {
  std::string path;
  std::string architecture;
};

// Nothing to run: a text to print (help, or what is wrong) and the exit code.
struct Message {
  std::string text;
  int exit_code = 0;
};

using CommandLine =
    std::variant<Message, DevicesCommand, PlanCommand, TrainCommand,
                 WatchCommand, CalibrateCommand, CompileKernelCommand>;

// `arguments` without the program's name. Reads PLIMSOLL_HOST_MEMORY and
// PLIMSOLL_DEVICE_MEMORY from the environment.
CommandLine parse_command_line(const std::vector<std::string>& arguments);

}  // namespace plimsoll::cli
