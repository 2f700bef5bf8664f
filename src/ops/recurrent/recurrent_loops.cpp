// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/recurrent/recurrent_loops.h"

#include "ops/normalization/stored_lanes.h"

#if defined(__clang__)
// f64 calls the library and stays scalar; that is no news.
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

#include "ops/elementwise/vector_math.inc"

// Units that are treated at once, in arrays that stay in the first cache.
constexpr std::int64_t kSome = 64;

template <class T>
void widen_all(const T* from, std::int64_t n, Computed<T>* to) {
  for_lanes(n, [&](std::int64_t i, std::int64_t end) {
    Lanes<Computed<T>> lanes;
    load_wide(from, i, end, Computed<T>(0), lanes);
    store_lanes(lanes, to, i, end);
  });
}

template <class T>
void widen_or_zero(const T* from, std::int64_t n, Computed<T>* to) {
  if (from != nullptr) return widen_all(from, n, to);
  for (std::int64_t i = 0; i < n; ++i) to[i] = 0;
}

template <class T>
void narrow_all(const Computed<T>* from, std::int64_t n, T* to) {
  for_lanes(n, [&](std::int64_t i, std::int64_t end) {
    Lanes<Computed<T>> lanes;
    load_lanes(from, i, end, Computed<T>(0), lanes);
    store_narrow(lanes, to, i, end);
  });
}

template <class T>
void turn(const T* from, std::int64_t rows, std::int64_t columns,
          std::int64_t stride, Computed<T>* to) {
  Computed<T> block[kRowLanes][kSome];
  for (std::int64_t row = 0; row < rows; row += kRowLanes) {
    const std::int64_t high = rows - row < kRowLanes ? rows - row : kRowLanes;
    for (std::int64_t column = 0; column < columns; column += kSome) {
      const std::int64_t wide =
          columns - column < kSome ? columns - column : kSome;
      for (std::int64_t i = 0; i < high; ++i) {
        widen_all(from + (row + i) * columns + column, wide, block[i]);
      }
      for (std::int64_t j = 0; j < wide; ++j) {
        for (std::int64_t i = 0; i < high; ++i) {
          to[(column + j) * stride + row + i] = block[i][j];
        }
      }
    }
  }
}

template <class C>
void sigmoids(C* x, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) x[j] = sigmoid_of(x[j]);
}
template <class C>
void tanhs(C* x, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) x[j] = tanh_of(x[j]);
}

// Calls run(row, first unit, units) for pieces that the arrays hold.
template <class Step, class Run>
void for_pieces(const Step& step, Run&& run) {
  for (std::int64_t row = 0; row < step.rows; ++row) {
    for (std::int64_t j = 0; j < step.units; j += kSome) {
      run(row, j, step.units - j < kSome ? step.units - j : kSome);
    }
  }
}

template <class P>
P* at(P* start, std::int64_t offset) {
  return start == nullptr ? nullptr : start + offset;
}

template <class T>
void lstm(const RecurrentForward<T>& s) {
  using C = Computed<T>;
  for_pieces(s, [&](std::int64_t row, std::int64_t j, std::int64_t n) {
    C x[4][kSome], cell[kSome], h[kSome];
    const std::int64_t gates = row * 4 * s.state_row + j;
    const std::int64_t state = row * s.state_row + j;
    for (int g = 0; g < 4; ++g) {
      widen_all(s.sums + gates + g * s.hidden, n, x[g]);
      if (s.product == nullptr) continue;
      const C* product = s.product + row * s.product_row + g * s.hidden + j;
      for (std::int64_t i = 0; i < n; ++i) x[g][i] += product[i];
    }
    widen_or_zero(at(s.before, row * s.before_row + j), n, cell);
    sigmoids(x[0], n);
    sigmoids(x[1], n);
    tanhs(x[2], n);
    sigmoids(x[3], n);
    for (std::int64_t i = 0; i < n; ++i) {
      cell[i] = x[1][i] * cell[i] + x[0][i] * x[2][i];
      h[i] = cell[i];
    }
    tanhs(h, n);
    for (std::int64_t i = 0; i < n; ++i) h[i] *= x[3][i];
    for (int g = 0; g < 4; ++g) {
      narrow_all(x[g], n, s.gates + gates + g * s.hidden);
    }
    narrow_all(cell, n, s.cells + state);
    narrow_all(h, n, s.states + state);
    widen_all(s.states + state, n, s.wide_states + row * s.hidden + j);
  });
}

template <class T>
void gru(const RecurrentForward<T>& s) {
  using C = Computed<T>;
  for_pieces(s, [&](std::int64_t row, std::int64_t j, std::int64_t n) {
    C x[3][kSome], m[3][kSome], h[kSome];
    const std::int64_t gates = row * 3 * s.state_row + j;
    const std::int64_t state = row * s.state_row + j;
    for (int g = 0; g < 3; ++g) {
      widen_all(s.sums + gates + g * s.hidden, n, x[g]);
      widen_or_zero(at(s.product, row * s.product_row + g * s.hidden + j), n,
                    m[g]);
    }
    widen_or_zero(at(s.before, row * s.before_row + j), n, h);
    for (int g = 0; g < 2; ++g) {
      for (std::int64_t i = 0; i < n; ++i) x[g][i] += m[g][i];
      sigmoids(x[g], n);
    }
    for (std::int64_t i = 0; i < n; ++i) x[2][i] += x[1][i] * m[2][i];
    tanhs(x[2], n);
    for (std::int64_t i = 0; i < n; ++i) {
      h[i] = x[0][i] * h[i] + (C(1) - x[0][i]) * x[2][i];
    }
    for (int g = 0; g < 3; ++g) {
      narrow_all(x[g], n, s.gates + gates + g * s.hidden);
    }
    narrow_all(m[2], n, s.candidate_sums + state);
    narrow_all(h, n, s.states + state);
    widen_all(s.states + state, n, s.wide_states + row * s.hidden + j);
  });
}

// dy with what the next step gives back.
template <class T>
void arriving(const RecurrentBackward<T>& s, std::int64_t row, std::int64_t j,
              std::int64_t n, Computed<T>* dh) {
  widen_all(s.dy + row * s.state_row + j, n, dh);
  if (s.product == nullptr) return;
  const Computed<T>* product = s.product + row * s.hidden + j;
  for (std::int64_t i = 0; i < n; ++i) dh[i] += product[i];
}

template <class T>
void lstm_grad(const RecurrentBackward<T>& s) {
  using C = Computed<T>;
  for_pieces(s, [&](std::int64_t row, std::int64_t j, std::int64_t n) {
    C a[4][kSome], d[4][kSome], dh[kSome], y[kSome], before[kSome];
    const std::int64_t gates = row * 4 * s.state_row + j;
    const std::int64_t state = row * s.state_row + j;
    C* carry = s.carry + row * s.hidden + j;
    arriving(s, row, j, n, dh);
    for (int g = 0; g < 4; ++g) {
      widen_all(s.gates + gates + g * s.hidden, n, a[g]);
    }
    widen_all(s.cells + state, n, y);
    tanhs(y, n);
    widen_or_zero(at(s.cells_before, state), n, before);
    for (std::int64_t i = 0; i < n; ++i) {
      const C one = 1;
      // Nothing comes from behind the last step.
      const C next = s.product == nullptr ? C(0) : carry[i];
      const C dc = next + dh[i] * a[3][i] * (one - y[i] * y[i]);
      d[0][i] = dc * a[2][i] * (a[0][i] * (one - a[0][i]));
      d[1][i] = dc * before[i] * (a[1][i] * (one - a[1][i]));
      d[2][i] = dc * a[0][i] * (one - a[2][i] * a[2][i]);
      d[3][i] = dh[i] * y[i] * (a[3][i] * (one - a[3][i]));
      carry[i] = dc * a[1][i];
    }
    for (int g = 0; g < 4; ++g) {
      narrow_all(d[g], n, s.dsums + gates + g * s.hidden);
      narrow_all(d[g], n, s.wide + (row * 4 + g) * s.hidden + j);
    }
  });
}

template <class T>
void gru_grad(const RecurrentBackward<T>& s) {
  using C = Computed<T>;
  for_pieces(s, [&](std::int64_t row, std::int64_t j, std::int64_t n) {
    C a[3][kSome], d[4][kSome], dh[kSome], m[kSome], before[kSome];
    const std::int64_t gates = row * 3 * s.state_row + j;
    const std::int64_t state = row * s.state_row + j;
    C* carry = s.carry + row * s.hidden + j;
    arriving(s, row, j, n, dh);
    for (int g = 0; g < 3; ++g) {
      widen_all(s.gates + gates + g * s.hidden, n, a[g]);
    }
    widen_all(s.candidate_sums + state, n, m);
    widen_or_zero(at(s.states_before, state), n, before);
    for (std::int64_t i = 0; i < n; ++i) {
      const C one = 1;
      const C all = dh[i] + (s.product == nullptr ? C(0) : carry[i]);
      const C dn = all * (one - a[0][i]) * (one - a[2][i] * a[2][i]);
      d[0][i] = all * (before[i] - a[2][i]) * (a[0][i] * (one - a[0][i]));
      d[1][i] = dn * m[i] * (a[1][i] * (one - a[1][i]));
      d[2][i] = dn;
      d[3][i] = dn * a[1][i];
      carry[i] = all * a[0][i];
    }
    for (int g = 0; g < 3; ++g) {
      const C* recurrent = d[g == 2 ? 3 : g];
      narrow_all(d[g], n, s.dsums + gates + g * s.hidden);
      narrow_all(recurrent, n, s.drecurrent + gates + g * s.hidden);
      narrow_all(recurrent, n, s.wide + (row * 3 + g) * s.hidden + j);
    }
  });
}

template <class T>
RecurrentLoops<T> loops() {
  return {lstm<T>, gru<T>, lstm_grad<T>, gru_grad<T>, widen_all<T>, turn<T>};
}

}  // namespace

RecurrentTables recurrent_tables() {
  return {loops<float>(), loops<double>(), loops<Bf16>(), loops<F16>()};
}

}  // namespace plimsoll::ops::PLIMSOLL_ISA
