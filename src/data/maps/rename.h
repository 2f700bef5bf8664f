// Another name for a field: training looks for `features` and `labels`.
#pragma once

#include <memory>
#include <string>

#include "data/maps/one_field.h"

namespace plimsoll::data {

std::unique_ptr<Map> rename(FieldChoice field, std::string to);

}  // namespace plimsoll::data
