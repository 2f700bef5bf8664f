// Plimsoll trains neural networks inside a memory limit, or tells you before
// it starts why it can't.
#pragma once

#include "plimsoll/callbacks.h"
#include "plimsoll/config.h"
#include "plimsoll/data.h"
#include "plimsoll/device.h"
#include "plimsoll/dtype.h"
#include "plimsoll/error.h"
#include "plimsoll/function.h"
#include "plimsoll/layers.h"
#include "plimsoll/memory_source.h"
#include "plimsoll/model.h"
#include "plimsoll/objective.h"
#include "plimsoll/optimizer_state.h"
#include "plimsoll/scope.h"
#include "plimsoll/session.h"
#include "plimsoll/tape.h"
#include "plimsoll/tensor.h"
#include "plimsoll/tensor_math.h"
#include "plimsoll/variable.h"
