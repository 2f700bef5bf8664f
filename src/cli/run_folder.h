// Where a run goes when nobody said.
#pragma once

#include <string>

namespace plimsoll::cli {

// "runs/mlp1000" for mlp1000.toml, or "runs/mlp1000-2" and so on when that is
// taken: a run never overwrites another. To resume: the latest taken.
std::string choose_run_folder(const std::string& base,
                              const std::string& job_path, bool resume);

}  // namespace plimsoll::cli
