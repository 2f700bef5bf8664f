// What optimisers' updates take and give, by the names of their ops.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace plimsoll::ops {

enum class UpdateRule {
  sgd,
  sgd_momentum,
  sgd_nesterov,
  adam,
  adamw,
  rmsprop,
  rmsprop_momentum,
  rmsprop_centered,
  rmsprop_centered_momentum,
  adagrad,
  lamb,
};

// Inputs: parameter, gradient, states, rate, perhaps step and gate. Outputs:
// the new parameter and the new states.
struct UpdateForm {
  UpdateRule rule = UpdateRule::sgd;
  std::string_view op;
  std::string_view rows_op;  // of a table's rows; empty: it has none
  int states = 0;
  bool step = false;  // takes the number of the update

  constexpr int rate() const { return 2 + states; }
  // Where the gate stands among so many inputs; -1 where there is none.
  constexpr int gate(std::size_t inputs) const {
    const int place = rate() + (step ? 2 : 1);
    return static_cast<int>(inputs) > place ? place : -1;
  }
};

// In the order of the rules.
inline constexpr std::array kUpdateForms = {
    UpdateForm{UpdateRule::sgd, "sgd", "sgd_rows", 0},
    UpdateForm{UpdateRule::sgd_momentum, "sgd_momentum", "sgd_momentum_rows",
               1},
    UpdateForm{UpdateRule::sgd_nesterov, "sgd_nesterov", "sgd_nesterov_rows",
               1},
    UpdateForm{UpdateRule::adam, "adam", "adam_rows", 2, true},
    UpdateForm{UpdateRule::adamw, "adamw", "adamw_rows", 2, true},
    UpdateForm{UpdateRule::rmsprop, "rmsprop", "rmsprop_rows", 1},
    UpdateForm{UpdateRule::rmsprop_momentum, "rmsprop_momentum",
               "rmsprop_momentum_rows", 2},
    UpdateForm{UpdateRule::rmsprop_centered, "rmsprop_centered",
               "rmsprop_centered_rows", 2},
    UpdateForm{UpdateRule::rmsprop_centered_momentum,
               "rmsprop_centered_momentum", "rmsprop_centered_momentum_rows",
               3},
    UpdateForm{UpdateRule::adagrad, "adagrad", "adagrad_rows", 1},
    UpdateForm{UpdateRule::lamb, "lamb", "", 2, true},
};
inline constexpr std::size_t kUpdateRules = kUpdateForms.size();

constexpr const UpdateForm& update_form(UpdateRule rule) {
  return kUpdateForms[static_cast<std::size_t>(rule)];
}

// Of an op of that name, of whole parameters or of rows; null where no update
// has it.
constexpr const UpdateForm* find_update_form(std::string_view op) {
  for (const UpdateForm& form : kUpdateForms) {
    if (form.op == op || form.rows_op == op) return &form;
  }
  return nullptr;
}

}  // namespace plimsoll::ops
