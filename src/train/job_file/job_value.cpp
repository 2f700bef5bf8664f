#include "train/job_file/job_value.h"

namespace plimsoll::train {

JobValue* JobValue::find(std::string_view name) {
  for (JobValue& value : entries) {
    if (value.key == name) return &value;
  }
  return nullptr;
}

const JobValue* JobValue::find(std::string_view name) const {
  return const_cast<JobValue*>(this)->find(name);
}

std::string_view describe(JobValue::Kind kind) {
  switch (kind) {
    case JobValue::Kind::table:
      return "a table";
    case JobValue::Kind::array:
      return "an array";
    case JobValue::Kind::string:
      return "a string";
    case JobValue::Kind::integer:
      return "an integer";
    case JobValue::Kind::real:
      return "a number with a fraction";
    case JobValue::Kind::boolean:
      return "a boolean";
    case JobValue::Kind::other:
      break;
  }
  return "a date or time";
}

}  // namespace plimsoll::train
