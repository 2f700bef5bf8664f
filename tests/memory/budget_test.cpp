#include "memory/budget.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace plimsoll {
namespace {

SystemMemory machine() {
  SystemMemory system;
  system.total_bytes = 8 * kGiB;
  system.available_bytes = 6 * kGiB;
  system.limits = {{7 * kGiB, "cgroup limit at /job"},
                   {6 * kGiB, "available memory"}};
  return system;
}

TEST(BudgetTest, FlagOverEnvironmentOverJobFileOverDefault) {
  BudgetRequest request;
  EXPECT_EQ(*resolve_host_budget(request, machine()),
            (Budget{6 * kGiB, "available memory"}));
  request.job_file = "1GiB";
  EXPECT_EQ(*resolve_host_budget(request, machine()),
            (Budget{1 * kGiB, "job file"}));
  request.environment = "2GiB";
  EXPECT_EQ(*resolve_host_budget(request, machine()),
            (Budget{2 * kGiB, "PLIMSOLL_HOST_MEMORY"}));
  request.flag = "3GiB";
  EXPECT_EQ(*resolve_host_budget(request, machine()),
            (Budget{3 * kGiB, "--host-memory"}));
}

TEST(BudgetTest, AnEmptyVariableIsAnUnsetOne) {
  BudgetRequest request;
  request.environment = "";
  request.job_file = "1GiB";
  EXPECT_EQ(resolve_host_budget(request, machine())->source, "job file");
}

TEST(BudgetTest, PercentagesAreOfTheTotal) {
  BudgetRequest request;
  request.flag = "25%";
  EXPECT_EQ(resolve_host_budget(request, machine())->bytes, 2 * kGiB);
}

TEST(BudgetTest, ARequestAboveALimitIsCutAndSaysSo) {
  BudgetRequest request;
  request.environment = "64GiB";
  const auto budget = resolve_host_budget(request, machine());
  ASSERT_TRUE(budget.ok());
  EXPECT_EQ(budget->bytes, 6 * kGiB);
  EXPECT_EQ(budget->source,
            "available memory (below PLIMSOLL_HOST_MEMORY 64GiB)");
  request.environment = "6GiB";  // exactly the limit: nothing is cut
  EXPECT_EQ(resolve_host_budget(request, machine())->source,
            "PLIMSOLL_HOST_MEMORY");
}

TEST(BudgetTest, BadSizesNameWhereTheyCameFrom) {
  for (const char* text : {"12", "-1GiB", "1XiB", "0%", "", "lots"}) {
    BudgetRequest flag, environment, job_file;
    flag.flag = text;
    environment.environment = text;
    job_file.job_file = text;
    for (const auto& [request, source] :
         {std::pair(&flag, "--host-memory: "),
          std::pair(&environment, "PLIMSOLL_HOST_MEMORY: "),
          std::pair(&job_file, "job file: ")}) {
      if (request == &environment && *text == '\0') continue;
      const auto budget = resolve_host_budget(*request, machine());
      ASSERT_FALSE(budget.ok()) << source << text;
      EXPECT_EQ(budget.error().code, ErrorCode::bad_input);
      EXPECT_TRUE(budget.error().message.starts_with(source))
          << budget.error().message;
      EXPECT_NE(budget.error().message.find(text), std::string::npos);
    }
  }
}

TEST(BudgetTest, WithoutAnyLimitTheTotalBinds) {
  SystemMemory system;
  system.total_bytes = 5000;
  EXPECT_EQ(*resolve_host_budget({}, system), (Budget{5000, "system memory"}));
  BudgetRequest request;
  request.flag = "9000B";
  EXPECT_EQ(resolve_host_budget(request, system)->bytes, 9000);
}

TEST(DeviceBudgetTest, WithoutARequestWhatIsFreeOrAllOfAProfile) {
  EXPECT_EQ(*resolve_device_budget({}, {80 * kGiB, 79 * kGiB, "A100"}),
            (Budget{79 * kGiB, "free device memory"}));
  EXPECT_EQ(*resolve_device_budget({}, {80 * kGiB, std::nullopt, "a100-80"}),
            (Budget{80 * kGiB, "total device memory of a100-80 profile"}));
}

TEST(DeviceBudgetTest, FlagOverEnvironmentOverJobFile) {
  const DeviceMemory device{80 * kGiB, 79 * kGiB, "A100"};
  BudgetRequest request;
  request.job_file = "1GiB";
  EXPECT_EQ(*resolve_device_budget(request, device),
            (Budget{1 * kGiB, "job file"}));
  request.environment = "2GiB";
  EXPECT_EQ(*resolve_device_budget(request, device),
            (Budget{2 * kGiB, "PLIMSOLL_DEVICE_MEMORY"}));
  request.flag = "50%";
  EXPECT_EQ(*resolve_device_budget(request, device),
            (Budget{40 * kGiB, "--device-memory"}));
}

TEST(DeviceBudgetTest, ARequestAboveWhatIsThereIsCut) {
  BudgetRequest request;
  request.flag = "100GiB";
  EXPECT_EQ(
      *resolve_device_budget(request, {80 * kGiB, 9 * kGiB, ""}),
      (Budget{9 * kGiB, "free device memory (below --device-memory 100GiB)"}));
  EXPECT_EQ(
      resolve_device_budget(request, {80 * kGiB, std::nullopt, "t4"})->source,
      "total device memory of t4 profile (below --device-memory "
      "100GiB)");
  request.flag = "8";
  EXPECT_EQ(resolve_device_budget(request, {kGiB, kGiB, ""})
                .error()
                .message.find("--device-memory: "),
            0u);
}

TEST(DeviceBudgetTest, TheProcesssOwnLimitIsACap) {
  const DeviceMemory device{80 * kGiB, 79 * kGiB, "A100",
                            SystemLimit{2 * kGiB, "a limit"}};
  EXPECT_EQ(*resolve_device_budget({}, device), (Budget{2 * kGiB, "a limit"}));
  BudgetRequest request;
  request.flag = "4GiB";
  EXPECT_EQ(*resolve_device_budget(request, device),
            (Budget{2 * kGiB, "a limit (below --device-memory 4GiB)"}));
  request.flag = "1GiB";
  EXPECT_EQ(*resolve_device_budget(request, device),
            (Budget{kGiB, "--device-memory"}));
}

}  // namespace
}  // namespace plimsoll
