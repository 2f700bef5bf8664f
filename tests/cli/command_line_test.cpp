#include "cli/command_line.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/exit_codes.h"
#include "cli/run_folder.h"
#include "cli/shell_text.h"

namespace plimsoll::cli {
namespace {

using Words = std::vector<std::string>;

template <class T>
T parse_as(const Words& words) {
  CommandLine line = parse_command_line(words);
  if (auto* message = std::get_if<Message>(&line)) {
    ADD_FAILURE() << message->text;
    return T{};
  }
  EXPECT_TRUE(std::holds_alternative<T>(line));
  return std::holds_alternative<T>(line) ? std::get<T>(line) : T{};
}

Message message_of(const Words& words) {
  CommandLine line = parse_command_line(words);
  auto* message = std::get_if<Message>(&line);
  EXPECT_TRUE(message) << shell_join(words);
  return message ? *message : Message{"", -1};
}

TEST(CommandLine, EveryOptionOfAJobArrives) {
  setenv("PLIMSOLL_HOST_MEMORY", "3GiB", 1);
  setenv("PLIMSOLL_DEVICE_MEMORY", "", 1);
  const auto plan = parse_as<PlanCommand>({"plan",
                                           "job.toml",
                                           "--host-memory",
                                           "2GiB",
                                           "--device",
                                           "cpu",
                                           "--device-memory",
                                           "8GiB",
                                           "--device-profile",
                                           "h200",
                                           "--batch",
                                           "64",
                                           "--epochs",
                                           "3",
                                           "--threads",
                                           "2",
                                           "--precision",
                                           "f64",
                                           "--seed",
                                           "9",
                                           "--set",
                                           "a.b=1",
                                           "--set",
                                           "c=x y",
                                           "--sweep",
                                           "batch=32:4096",
                                           "--json"});
  unsetenv("PLIMSOLL_HOST_MEMORY");
  unsetenv("PLIMSOLL_DEVICE_MEMORY");
  EXPECT_EQ(plan.job.path, "job.toml");
  EXPECT_EQ(plan.job.run.host_memory_flag, "2GiB");
  EXPECT_EQ(plan.job.run.host_memory_env, "3GiB");
  EXPECT_EQ(plan.job.run.device_memory_flag, "8GiB");
  EXPECT_FALSE(plan.job.run.device_memory_env);
  EXPECT_EQ(plan.job.run.device, "cpu");
  EXPECT_EQ(plan.job.run.device_profile, "h200");
  EXPECT_EQ(plan.job.run.threads, 2);
  // --set first: the options of their own are stronger.
  EXPECT_EQ(plan.job.overrides,
            (Words{"a.b=1", "c=x y", "train.batch=64", "train.epochs=3",
                   "train.seed=9", "train.precision=f64"}));
  ASSERT_TRUE(plan.sweep);
  EXPECT_EQ(plan.sweep->key, "batch");
  EXPECT_EQ(plan.sweep->from, 32);
  EXPECT_EQ(plan.sweep->to, 4096);
  EXPECT_TRUE(plan.json);
  EXPECT_NE(plan.job.typed.find("--set 'c=x y'"), std::string::npos);
}

TEST(CommandLine, Train) {
  const auto train = parse_as<TrainCommand>(
      {"train", "--quiet", "--resume", "--run-dir", "r", "job.toml"});
  EXPECT_EQ(train.job.path, "job.toml");
  EXPECT_EQ(train.run_dir, "r");
  EXPECT_TRUE(train.resume);
  EXPECT_TRUE(train.quiet);
  EXPECT_EQ(train.job.run.threads, 0);
  EXPECT_FALSE(train.job.run.host_memory_flag);
  EXPECT_TRUE(train.job.overrides.empty());
}

TEST(CommandLine, SetTakesOneValueAndLeavesTheJob) {
  const auto plan = parse_as<PlanCommand>({"plan", "--set", "a=1", "job.toml"});
  EXPECT_EQ(plan.job.path, "job.toml");
  EXPECT_EQ(plan.job.overrides, Words{"a=1"});
}

TEST(CommandLine, OfTwoTheLastHolds) {
  const auto plan = parse_as<PlanCommand>(
      {"plan", "job.toml", "--host-memory", "1MiB", "--batch", "8", "--set",
       "a=1", "--host-memory", "2MiB", "--batch", "4", "--set", "b=2"});
  EXPECT_EQ(plan.job.run.host_memory_flag, "2MiB");
  EXPECT_EQ(plan.job.overrides, (Words{"a=1", "b=2", "train.batch=4"}));
}

TEST(CommandLine, WatchLeavesTheCommandAlone) {
  const auto watch =
      parse_as<WatchCommand>({"watch", "--host-memory", "1GiB", "--json", "f",
                              "--", "sh", "--help", "--", "--json"});
  EXPECT_EQ(watch.host_memory, "1GiB");
  EXPECT_EQ(watch.json_path, "f");
  EXPECT_EQ(watch.command, (Words{"sh", "--help", "--", "--json"}));
}

TEST(CommandLine, HelpIsNoFailure) {
  for (const Words& words :
       {Words{"--help"}, Words{"plan", "--help"}, Words{"watch", "-h"}}) {
    const Message message = message_of(words);
    EXPECT_EQ(message.exit_code, kDone);
    EXPECT_NE(message.text.find("plimsoll"), std::string::npos);
  }
  EXPECT_EQ(message_of({"--version"}).exit_code, kDone);
  // What only our own program calls stays out of sight.
  EXPECT_EQ(message_of({"--help"}).text.find("calibrate"), std::string::npos);
}

TEST(CommandLine, BadUsageIsExitTwo) {
  const Words cases[] = {
      {},
      {"fly"},
      {""},
      {"--fly"},
      {"plan"},
      {"train"},
      {"plan", "a.toml", "b.toml"},
      {"plan", "a.toml", "--batch", "many"},
      {"plan", "a.toml", "--threads", "0"},
      {"plan", "a.toml", "--threads", "-3"},
      {"plan", "a.toml", "--run-dir", "r"},
      {"plan", "a.toml", "--host-memory"},
      {"plan", "a.toml", "--device", "tpu"},
      {"plan", "a.toml", "--device", "cuda"},
      {"plan", "a.toml", "--device", "cuda:x"},
      {"train", "a.toml", "--device-profile", "h200"},
      {"train", "a.toml", "--sweep", "batch=1:2"},
      {"plan", "a.toml", "--sweep", ""},
      {"plan", "a.toml", "--sweep", "batch"},
      {"plan", "a.toml", "--sweep", "batch=1"},
      {"plan", "a.toml", "--sweep", "batch=:2"},
      {"plan", "a.toml", "--sweep", "batch=2:1"},
      {"plan", "a.toml", "--sweep", "batch=0:1"},
      {"plan", "a.toml", "--sweep", "batch=1:2x"},
      {"plan", "a.toml", "--sweep", "units=1:2"},
      {"plan", "a.toml", "--sweep", "1:2=batch"},
      {"devices", "cpu"},
      {"watch"},
      {"watch", "--"},
      {"watch", "sleep"},
  };
  for (const Words& words : cases) {
    const Message message = message_of(words);
    EXPECT_EQ(message.exit_code, kBadUsage) << shell_join(words);
    EXPECT_EQ(message.text.rfind("plimsoll: ", 0), 0u) << message.text;
  }
}

TEST(CommandLine, SaysWhatIsNotThere) {
  EXPECT_EQ(message_of({"explain", "run"}).text,
            "plimsoll: `explain` is not in this version\n");
  EXPECT_EQ(message_of({"pack", "a.csv"}).text,
            "plimsoll: `pack` is not in this version\n");
  EXPECT_EQ(message_of({"train", "a.toml", "--device-profile", "h200"}).text,
            "plimsoll: --device-profile: a shipped profile plans only; train "
            "with --device\n");
}

TEST(CommandLine, WhetherADeviceIsThereIsNotAMatterOfUsage) {
  EXPECT_EQ(parse_as<TrainCommand>({"train", "a.toml", "--device", "cuda:1"})
                .job.run.device,
            "cuda:1");
}

TEST(ShellText, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(shell_quote("a.b=1"), "a.b=1");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("it's $x"), "'it'\\''s $x'");
}

TEST(ExitCodes, FollowTheError) {
  EXPECT_EQ(exit_code_of({ErrorCode::bad_input, ""}), 2);
  EXPECT_EQ(exit_code_of({ErrorCode::unsupported, ""}), 2);
  EXPECT_EQ(exit_code_of({ErrorCode::does_not_fit, ""}), 3);
  EXPECT_EQ(exit_code_of({ErrorCode::io, ""}), 1);
  EXPECT_EQ(exit_code_of({ErrorCode::over_budget, ""}), 1);
}

}  // namespace
}  // namespace plimsoll::cli
