// What the library of convolutions costs once a job uses it.
#pragma once

#include "train/library_work.h"

namespace plimsoll::train {

// Of layers like ResNet-50's, in a process that has run none: an estimate for
// jobs whose own work is not measured. Nothing of the precision's is the
// library's: costs nothing.
Result<LibraryCost> measure_convolutions(CudaDevice& device, DeviceMeter& meter,
                                         DType precision, bool tf32);

}  // namespace plimsoll::train
