// What a piece of work throws, for tests of errors.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "plimsoll/error.h"

namespace plimsoll::testing {

// The text of the Exception, which must be of this kind.
template <class F>
std::string thrown(F&& work, Failure failure = Failure::bad_input) {
  try {
    work();
  } catch (const Exception& exception) {
    EXPECT_EQ(exception.failure(), failure) << exception.what();
    return exception.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

}  // namespace plimsoll::testing
