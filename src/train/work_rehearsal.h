// What a job's work of libraries costs, found by running it in another process.
#pragma once

#include <string>

#include "train/library_work.h"

namespace plimsoll::train {

// Of jobs on the device. `calibrator` is as in calibration.h; `key` has all
// else that changes the answer, which is kept in the user's cache.
LibraryMeasure library_measure_by(std::string calibrator, std::string device,
                                  std::string key);

// The calibrator's side, for a process of its own: the file has the work.
Result<LibraryCost> run_library_work(const std::string& device,
                                     const std::string& path);
// An error must be one of what the library does not offer: planning asks for
// something else then.
std::string to_text(const Result<LibraryCost>& cost);

}  // namespace plimsoll::train
