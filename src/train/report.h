// What a plan means for the user: verdict, limits, remedies.
#pragma once

#include "train/planned_job.h"
#include "train/trainer.h"

namespace plimsoll::train {

// What follows from the plan and the budget alone.
PlanReport report_on(const JobSpec& job, const PlannedJob& planned,
                     const Budget& budget,
                     const std::optional<Budget>& device_budget = {});

// What the training input costs, measured on its first elements.
Result<PipelineReport> explain_input(const JobSpec& job, const JobData& data,
                                     const PlannedJob& planned,
                                     Machine& machine);
// What follows from the layout and the cost, which is set already.
void fill_report(const data::FeederLayout& layout, const data::Input& input,
                 const JobSpec& job, int cores, PipelineReport& report);
// The same for programs.
std::string pipeline_json_text(const PipelineReport& report);
// The same for people.
std::string pipeline_text(const PipelineReport& report);

// The refusal and the remedies, as the text of an error.
std::string refusal_text(const PlanReport& report);

// A table of accounts against the budget, for people.
std::string summary_text(const PlanReport& report);

}  // namespace plimsoll::train
