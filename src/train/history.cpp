#include "train/history.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace plimsoll::train {
namespace {

// JSON has no NaN: a diverged loss is written as null and read back as NaN.
nlohmann::json numbers(const std::vector<double>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const double value : values) {
    list.push_back(std::isfinite(value) ? nlohmann::json(value)
                                        : nlohmann::json());
  }
  return list;
}

std::vector<double> read_numbers(const nlohmann::json& list) {
  std::vector<double> values;
  for (const auto& item : list) {
    values.push_back(item.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                    : item.get<double>());
  }
  return values;
}

}  // namespace

std::string to_json(const History& history) {
  nlohmann::json json = {{"epoch", history.epoch},
                         {"position", history.position},
                         {"steps", history.steps},
                         {"loss_by_epoch", numbers(history.loss_by_epoch)},
                         {"rss_by_epoch", history.anonymous_bytes_by_epoch}};
  if (!history.stream.numbers().empty()) {
    json["stream"] = history.stream.numbers();
  }
  if (history.group_batches > 0) {
    json["group_batches"] = history.group_batches;
    json["group_examples"] = history.group_examples;
  }
  json["metrics"] = nlohmann::json::object();
  for (const auto& [name, values] : history.metrics) {
    json["metrics"][name] = numbers(values);
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<History> history_from_json(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    History history;
    history.epoch = json.at("epoch").get<std::int64_t>();
    history.position = json.at("position").get<std::int64_t>();
    history.steps = json.at("steps").get<std::int64_t>();
    history.group_batches = json.value("group_batches", std::int64_t{0});
    history.group_examples = json.value("group_examples", std::int64_t{0});
    if (json.contains("stream")) {
      for (const auto& number : json.at("stream")) {
        history.stream.push(number.get<std::int64_t>());
      }
    }
    history.loss_by_epoch = read_numbers(json.at("loss_by_epoch"));
    json.at("rss_by_epoch").get_to(history.anonymous_bytes_by_epoch);
    for (const auto& [name, values] : json.at("metrics").items()) {
      history.metrics[name] = read_numbers(values);
    }
    if (!history.stream.fits() || history.epoch < 0 || history.position < 0 ||
        history.steps < 0 || history.group_batches < 0 ||
        history.group_examples < history.group_batches) {
      return Error{ErrorCode::bad_input,
                   "training position: below zero, or too long"};
    }
    return history;
  } catch (const nlohmann::json::exception& failure) {
    return Error{ErrorCode::bad_input,
                 std::string("training position: ") + failure.what()};
  }
}

}  // namespace plimsoll::train
