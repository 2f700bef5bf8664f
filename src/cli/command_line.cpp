#include "cli/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "base/environment.h"
#include "cli/exit_codes.h"
#include "cli/shell_text.h"

namespace plimsoll::cli {
namespace {

constexpr char kAbout[] =
    "Trains neural networks inside a memory limit, or tells you before it "
    "starts why it can't.";
constexpr char kExitCodes[] =
    "Exit codes: 0 done; 1 failed; 2 bad usage or bad job file; 3 the plan "
    "does not fit;\n75 stopped on a signal with a checkpoint written, run "
    "again with --resume.";
constexpr char kHostMemory[] = "PLIMSOLL_HOST_MEMORY";
constexpr char kDeviceMemory[] = "PLIMSOLL_DEVICE_MEMORY";

// Options as typed; they become overrides, which are checked as the job
// file's own values are.
struct JobOptions {
  std::optional<std::int64_t> batch, epochs, seed;
  std::optional<std::string> precision;
  std::vector<std::string> set;
};

std::string check_device(const std::string& device) {
  if (device == "cpu") return {};
  const std::string_view prefix = "cuda:";
  const bool is_cuda = device.rfind(prefix, 0) == 0 &&
                       device.size() > prefix.size() &&
                       device.find_first_not_of("0123456789", prefix.size()) ==
                           std::string::npos;
  if (is_cuda) return {};
  return "is cpu or cuda:0, not " + device;
}

void add_job_options(CLI::App& app, JobArguments& job, JobOptions& options) {
  app.add_option("JOB", job.path, "The job file (TOML)")->required();
  // Remedies are added to a command as it stands: what comes last holds.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--host-memory", job.run.host_memory_flag,
                 "Host memory for the whole process, as 2GiB or 40%")
      ->type_name("SIZE");
  app.add_option("--device", job.run.device, "cpu or cuda:0")
      ->check(CLI::Validator(check_device, "", "device"))
      ->type_name("DEVICE");
  app.add_option("--device-memory", job.run.device_memory_flag,
                 "Memory on the device, its driver's own included")
      ->type_name("SIZE");
  app.add_option("--device-profile", job.run.device_profile,
                 "Plan for h200, a100-80, l4, t4 or rtx4090 without having "
                 "one")
      ->type_name("NAME");
  app.add_option("--batch", options.batch, "Examples a step");
  app.add_option("--epochs", options.epochs, "Passes over the data");
  app.add_option("--threads", job.run.threads,
                 "Threads that compute; all usable cores by default")
      ->check(CLI::Range(1, 4096));
  app.add_option("--precision", options.precision, "f32, bf16, f16 or f64")
      ->type_name("TYPE");
  app.add_option("--seed", options.seed, "Of every random number");
  app.add_option("--set", options.set,
                 "Override the job file, as train.batch=64; can be repeated")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
}

void finish_job(JobArguments& job, const JobOptions& options,
                const std::vector<std::string>& arguments) {
  job.overrides = options.set;
  const auto add = [&](const char* key, const auto& value) {
    if (value) job.overrides.push_back(fmt::format("{}={}", key, *value));
  };
  add("train.batch", options.batch);
  add("train.epochs", options.epochs);
  add("train.seed", options.seed);
  add("train.precision", options.precision);
  job.run.host_memory_env = environment_text(kHostMemory);
  job.run.device_memory_env = environment_text(kDeviceMemory);
  job.typed = "plimsoll " + shell_join(arguments);
}

std::optional<Sweep> parse_sweep(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = text.find(':');
  if (equals == std::string::npos || colon == std::string::npos ||
      colon < equals) {
    return std::nullopt;
  }
  const auto number = [](std::string_view digits, std::int64_t& out) {
    const char* end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, out);
    return failure == std::errc() && stop == end && out >= 1;
  };
  const std::string_view view = text;
  Sweep sweep;
  sweep.key = text.substr(0, equals);
  if (sweep.key != "batch" && sweep.key != "examples") return std::nullopt;
  if (!number(view.substr(equals + 1, colon - equals - 1), sweep.from))
    return std::nullopt;
  if (!number(view.substr(colon + 1), sweep.to)) return std::nullopt;
  if (sweep.to < sweep.from) return std::nullopt;
  return sweep;
}

Message bad_usage(std::string_view text) {
  return {fmt::format("plimsoll: {}\n", text), kBadUsage};
}

// A first word that no command has; planned ones are named as such.
std::optional<Message> refuse_unknown(
    const std::vector<std::string>& arguments) {
  if (arguments.empty()) return std::nullopt;
  const std::string& word = arguments[0];
  if (word == "explain" || word == "pack") {
    return bad_usage(fmt::format("`{}` is not in this version", word));
  }
  const bool known = word == "devices" || word == "plan" || word == "train" ||
                     word == "watch" || word == "calibrate" ||
                     word == "compile-kernel" || word.empty() || word[0] == '-';
  if (known) return std::nullopt;
  return bad_usage(fmt::format(
      "no command `{}`; there are devices, plan, train and watch", word));
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments) {
  if (auto message = refuse_unknown(arguments)) return *message;

  CLI::App app(kAbout, "plimsoll");
  app.footer(kExitCodes);
  app.require_subcommand(1);
  app.set_version_flag("--version", "plimsoll " PLIMSOLL_VERSION);

  DevicesCommand devices;
  CLI::App* devices_app = app.add_subcommand(
      "devices", "What there is to train on, and which limit binds");
  devices_app->add_flag("--json", devices.json, "As JSON");

  PlanCommand plan;
  JobOptions plan_options;
  std::string sweep_text;
  CLI::App* plan_app = app.add_subcommand(
      "plan", "Forecast a job's memory and time without running it");
  add_job_options(*plan_app, plan.job, plan_options);
  plan_app
      ->add_option("--sweep", sweep_text,
                   "Forecast over a range: batch=32:4096 or "
                   "examples=1000:1000000")
      ->type_name("KEY=FROM:TO");
  plan_app->add_flag("--json", plan.json, "As JSON");
  plan_app->add_flag("--layers", plan.layers,
                     "With a table of what each layer gives and holds");

  TrainCommand train;
  JobOptions train_options;
  CLI::App* train_app =
      app.add_subcommand("train", "Train a job inside its memory budget");
  add_job_options(*train_app, train.job, train_options);
  train_app
      ->add_option("--run-dir", train.run_dir,
                   "Where plan, log, summary and checkpoints go")
      ->type_name("DIR");
  train_app->add_flag("--resume", train.resume,
                      "Go on from the last checkpoint");
  train_app->add_flag("--quiet", train.quiet, "Print nothing but errors");

  WatchCommand watch;
  CLI::App* watch_app = app.add_subcommand(
      "watch", "Measure any program's memory: watch [OPTIONS] -- COMMAND...");
  watch_app
      ->add_option("--host-memory", watch.host_memory,
                   "A line: tells when the program would reach it")
      ->type_name("SIZE");
  watch_app->add_option("--json", watch.json_path, "Write the figures here")
      ->type_name("FILE");

  CalibrateCommand calibrate;
  CLI::App* calibrate_app = app.add_subcommand("calibrate", "");
  calibrate_app->group("");  // not shown in the help
  calibrate_app->add_option("--more-layers", calibrate.more_layers);
  calibrate_app->add_option("--device", calibrate.device);
  calibrate_app->add_option("--precision", calibrate.precision);
  calibrate_app->add_option("--spread", calibrate.spread);
  calibrate_app->add_option("--products", calibrate.products);
  calibrate_app->add_option("--convolutions", calibrate.convolutions);
  calibrate_app->add_option("--tf32", calibrate.tf32);
  calibrate_app->add_option("--pinned", calibrate.pinned);
  calibrate_app->add_option("--work", calibrate.work);
  calibrate_app->add_option("--threads", calibrate.threads)
      ->check(CLI::Range(1, 4096));

  CompileKernelCommand compile;
  CLI::App* compile_app = app.add_subcommand("compile-kernel", "");
  compile_app->group("");
  compile_app->add_option("file", compile.path)->required();
  compile_app->add_option("architecture", compile.architecture)->required();

  // What follows `--` belongs to the watched command, whatever it looks like.
  auto own_end = arguments.end();
  const bool is_watch = !arguments.empty() && arguments[0] == "watch";
  if (is_watch) {
    own_end = std::find(arguments.begin(), arguments.end(), "--");
    if (own_end != arguments.end())
      watch.command.assign(own_end + 1, arguments.end());
  }
  // The library takes the arguments last first.
  std::vector<std::string> reversed(std::make_reverse_iterator(own_end),
                                    arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::Success& help) {
    std::ostringstream out, err;
    app.exit(help, out, err);
    return Message{out.str(), kDone};
  } catch (const CLI::ParseError& problem) {
    return bad_usage(fmt::format("{}; see --help", problem.what()));
  }

  if (*devices_app) return devices;
  if (*calibrate_app) return calibrate;
  if (*compile_app) return compile;
  if (*watch_app) {
    if (watch.command.empty())
      return bad_usage("watch: write the command after `--`");
    return watch;
  }
  if (*train_app) {
    if (train.job.run.device_profile) {
      return bad_usage(
          "--device-profile: a shipped profile plans only; train with "
          "--device");
    }
    finish_job(train.job, train_options, arguments);
    return train;
  }
  finish_job(plan.job, plan_options, arguments);
  if (!sweep_text.empty() || plan_app->count("--sweep") > 0) {
    plan.sweep = parse_sweep(sweep_text);
    if (!plan.sweep) {
      return bad_usage(fmt::format(
          "--sweep `{}`: write batch=FROM:TO or examples=FROM:TO with whole "
          "numbers from 1 up, FROM not above TO",
          sweep_text));
    }
  }
  return plan;
}

}  // namespace plimsoll::cli
