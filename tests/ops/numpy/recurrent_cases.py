"""Recurrent layers: Keras's gate order, GRU with reset_after."""
import numpy as np

from case import case, f32, restart_random, wide


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_of(X, U):
    B, T, W = X.shape
    h, c = np.zeros((B, W // 4)), np.zeros((B, W // 4))
    states, cells, gates = [], [], []
    for t in range(T):
        i, f, g, o = np.split(X[:, t] + h @ U, 4, axis=1)
        i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
        c = f * c + i * g
        h = o * np.tanh(c)
        states.append(h)
        cells.append(c)
        gates.append(np.concatenate([i, f, g, o], axis=1))
    return tuple(np.stack(v, axis=1) for v in (states, cells, gates))


def gru_of(X, U, bias):
    B, T, W = X.shape
    h = np.zeros((B, W // 3))
    states, products, gates = [], [], []
    for t in range(T):
        xz, xr, xn = np.split(X[:, t], 3, axis=1)
        mz, mr, mn = np.split(h @ U + bias, 3, axis=1)
        z, r = sigmoid(xz + mz), sigmoid(xr + mr)
        n = np.tanh(xn + r * mn)
        h = z * h + (1 - z) * n
        states.append(h)
        products.append(mn)
        gates.append(np.concatenate([z, r, n], axis=1))
    return tuple(np.stack(v, axis=1) for v in (states, products, gates))


def slopes(states_of, X, DY):
    """Of sum(DY * states) by every element of X, by a step into the complex
    plane."""
    slope = np.zeros_like(X)
    for at in np.ndindex(*X.shape):
        moved = X.astype(np.complex128)
        moved[at] += 1e-30j
        slope[at] = np.sum(DY * states_of(moved)).imag / 1e-30
    return slope


def recurrent():
    restart_random(20241120)
    x, u, dy = f32(2, 4, 12, low=-2, high=2), f32(3, 12), f32(2, 4, 3)
    X, U, DY = wide(x, u, dy)
    states, cells, gates = lstm_of(X, U)
    case("recurrent", "lstm", [x, u], (states, cells, gates))
    # What was saved, as f32 has it; slopes are those of the saved values.
    case("recurrent", "lstm_grad",
         [dy, u, cells.astype(np.float32), gates.astype(np.float32)],
         lstm_back(DY, U, *wide(cells.astype(np.float32),
                                gates.astype(np.float32))))
    exact = slopes(lambda v: lstm_of(v, U)[0], X, DY)
    assert np.abs(lstm_back(DY, U, cells, gates) - exact).max() < 1e-12

    x, u, bias = f32(2, 4, 9, low=-2, high=2), f32(3, 9), f32(9)
    X, U, BIAS = wide(x, u, bias)
    states, products, gates = gru_of(X, U, BIAS)
    case("recurrent", "gru", [x, u, bias], (states, products, gates))
    saved = [v.astype(np.float32) for v in (states, products, gates)]
    case("recurrent", "gru_grad", [dy, u, *saved],
         gru_back(DY, U, *wide(*saved)))
    exact = slopes(lambda v: gru_of(v, U, BIAS)[0], X, DY)
    assert np.abs(gru_back(DY, U, states, products, gates)[0] - exact).max() \
        < 1e-12


def lstm_back(DY, U, cells, gates):
    B, T, H = DY.shape
    dc, d = np.zeros((B, H)), np.zeros((B, 4 * H))
    sums = np.zeros((B, T, 4 * H))
    for t in reversed(range(T)):
        i, f, g, o = np.split(gates[:, t], 4, axis=1)
        y = np.tanh(cells[:, t])
        before = cells[:, t - 1] if t else np.zeros((B, H))
        dh = DY[:, t] + d @ U.T
        dc = dc + dh * o * (1 - y * y)
        d = np.concatenate([dc * g * i * (1 - i), dc * before * f * (1 - f),
                            dc * i * (1 - g * g), dh * y * o * (1 - o)],
                           axis=1)
        sums[:, t] = d
        dc = dc * f
    return sums


def gru_back(DY, U, states, products, gates):
    B, T, H = DY.shape
    carry, d = np.zeros((B, H)), np.zeros((B, 3 * H))
    sums, recurrent_sums = np.zeros((B, T, 3 * H)), np.zeros((B, T, 3 * H))
    for t in reversed(range(T)):
        z, r, n = np.split(gates[:, t], 3, axis=1)
        before = states[:, t - 1] if t else np.zeros((B, H))
        dh = DY[:, t] + carry + d @ U.T
        dn = dh * (1 - z) * (1 - n * n)
        dz = dh * (before - n) * z * (1 - z)
        dr = dn * products[:, t] * r * (1 - r)
        d = np.concatenate([dz, dr, dn * r], axis=1)
        sums[:, t] = np.concatenate([dz, dr, dn], axis=1)
        recurrent_sums[:, t] = d
        carry = dh * z
    return sums, recurrent_sums
