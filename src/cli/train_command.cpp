// `plimsoll train`.
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_folder.h"
#include "cli/shell_text.h"
#include "cli/stop_signals.h"
#include "cli/summary_text.h"
#include "report/tensorboard.h"
#include "train/job_file/job_file.h"

namespace plimsoll::cli {
namespace {

std::string resume_text(const TrainCommand& command,
                        const train::TrainOutcome& outcome) {
  std::string typed = command.job.typed;
  if (command.run_dir.empty())
    typed += " --run-dir " + shell_quote(outcome.run_dir);
  if (!command.resume) typed += " --resume";
  return fmt::format(
      "stopped after step {}, with a checkpoint written; go on with\n  {}\n",
      outcome.steps, typed);
}

Result<train::ScalarSink> open_event_file(const std::string& run_dir) {
  PLIMSOLL_ASSIGN(auto events, report::EventWriter::create(run_dir));
  const auto kept = std::make_shared<report::EventWriter>(std::move(events));
  return train::ScalarSink(
      [kept](const std::string& tag, std::int64_t step, double value) {
        return kept->add_scalar(tag, step, value);
      });
}

}  // namespace

int run(const TrainCommand& command) {
  const JobArguments& arguments = command.job;
  const auto job = train::read_job_file(arguments.path, arguments.overrides);
  if (!job) return fail(job.error());

  train::TrainRequest request;
  request.run_dir = command.run_dir.empty()
                        ? choose_run_folder("runs", job->path, command.resume)
                        : command.run_dir;
  request.resume = command.resume;
  request.open_scalars = open_event_file;
  request.stop = &stop_on_signals();
  ProgressPrinter printer(STDOUT_FILENO, isatty(STDOUT_FILENO) == 1);
  if (!command.quiet) {
    request.on_progress = [&](const train::Progress& progress) {
      printer.show(progress, ProgressPrinter::Clock::now());
    };
  }
  request.on_note = [&](const std::string& note) {
    printer.finish();
    print(stderr, "plimsoll: " + note + "\n");
  };
  const auto outcome = train::train_job(*job, arguments.run, request);
  printer.finish();
  if (!outcome) return fail(outcome.error());
  int code = kDone;
  if (!command.quiet) {
    std::string text = summary_text(outcome->summary_json);
    if (!outcome->run_dir.empty())
      text += fmt::format("run directory: {}\n", outcome->run_dir);
    // A reader that went away has seen what it wanted.
    if (!print(stdout, text) && errno != EPIPE) code = fail_for_lost_output();
  }
  if (!outcome->stopped) return code;
  print(stderr, resume_text(command, *outcome));
  return kStopped;
}

}  // namespace plimsoll::cli
