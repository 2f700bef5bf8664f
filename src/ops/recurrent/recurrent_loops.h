// One step of recurrent layers behind its product: gates and states of some
// rows and neighbouring units.
#pragma once

#include <cstdint>

#include "ops/isa.h"
#include "ops/normalization/stored.h"

namespace plimsoll::ops {

// Pointers are at the first row and unit. Rows of states are `state_row`
// apart, those of gates as many times that as there are gates.
template <class T>
struct RecurrentForward {
  using C = Computed<T>;
  std::int64_t rows = 0;
  std::int64_t units = 0;
  std::int64_t hidden = 0;  // from one gate to the next
  std::int64_t state_row = 0;
  const T* sums = nullptr;     // of gates, without the recurrent product
  const C* product = nullptr;  // with its bias; null: 0
  std::int64_t product_row = 0;
  const C* before = nullptr;  // cell (lstm) or state (gru); null: 0
  std::int64_t before_row = 0;
  T* states = nullptr;
  C* wide_states = nullptr;     // `hidden` apart, as they are stored
  C* cells = nullptr;           // lstm
  T* candidate_sums = nullptr;  // gru: the product's
  T* gates = nullptr;
};

template <class T>
struct RecurrentBackward {
  using C = Computed<T>;
  std::int64_t rows = 0;
  std::int64_t units = 0;
  std::int64_t hidden = 0;
  std::int64_t state_row = 0;
  const T* dy = nullptr;
  const C* product = nullptr;  // `hidden` apart; null: 0
  const T* gates = nullptr;
  const C* cells = nullptr;          // lstm
  const C* cells_before = nullptr;   // null: 0
  const T* states_before = nullptr;  // gru; null: 0
  const T* candidate_sums = nullptr;
  C* carry = nullptr;  // `hidden` apart, of what comes from the next step
  T* dsums = nullptr;
  T* drecurrent = nullptr;  // gru
  C* wide = nullptr;        // all gates' `hidden` apart: the next product's
};

template <class T>
struct RecurrentLoops {
  void (*lstm)(const RecurrentForward<T>& step) = nullptr;
  void (*gru)(const RecurrentForward<T>& step) = nullptr;
  void (*lstm_grad)(const RecurrentBackward<T>& step) = nullptr;
  void (*gru_grad)(const RecurrentBackward<T>& step) = nullptr;
  void (*widen)(const T* from, std::int64_t n, Computed<T>* to) = nullptr;
  // from [rows, columns] to the rows' places in [columns, stride].
  void (*turn)(const T* from, std::int64_t rows, std::int64_t columns,
               std::int64_t stride, Computed<T>* to) = nullptr;
};

struct RecurrentTables {
  RecurrentLoops<float> f32;
  RecurrentLoops<double> f64;
  RecurrentLoops<Bf16> bf16;
  RecurrentLoops<F16> f16;
};

PLIMSOLL_DECLARE_ISA_TABLE(RecurrentTables, recurrent_tables)

}  // namespace plimsoll::ops
