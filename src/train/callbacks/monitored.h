// The value that a callback watches, and which way is better.
#pragma once

#include <string>

#include "plimsoll/callbacks.h"

namespace plimsoll::train {

// Throws where `monitor` is none of the fit's names or `mode` is none of auto,
// min and max. `user` is the callback's name.
void check_monitor(const char* user, const std::string& monitor,
                   const std::string& mode, const FitControl& fit);
void check_mode(const char* user, const std::string& mode);

// What every number is better than. "auto" is "max" for accuracies.
double worst_value(const std::string& monitor, const std::string& mode);

// Whether `value` is better than `best` by more than `min_delta`; NaN is never.
bool is_better(double value, double best, double min_delta,
               const std::string& monitor, const std::string& mode);

// Makes the folder of a file that is to be written.
void make_folder_of(const std::string& path);
void make_folder(const std::string& path);

}  // namespace plimsoll::train
