#include <array>
#include <memory>
#include <random>
#include <stdexcept>

#include "loops.h"

namespace plimsoll::loops {
namespace {

// 4 GiB: no line of these loops is that high.
Tensor too_large() { return ones({1 << 15, 1 << 15}); }

// That it does not fit, and that all goes on afterwards.
void must_fail(const std::function<void()>& work) {
  try {
    work();
  } catch (const Exception& error) {
    if (error.failure() == Failure::over_budget) return;
    throw;
  }
  throw std::runtime_error("what cannot fit did not fail");
}

struct Ops {
  static constexpr int kShapes = 12;
  std::vector<Tensor> a, b;

  Ops() {
    for (int i = 0; i < kShapes; ++i) {
      const Extents shape{1 + 5 * i, 3 + 7 * ((5 * i) % kShapes)};
      a.push_back(random_normal(shape, i));
      b.push_back(random_uniform(shape, i, 0.5, 1.5));
    }
  }

  Tensor one(std::int64_t turn) const {
    const auto at = static_cast<std::size_t>(turn % kShapes);
    const Tensor &x = a[at], &y = b[at];
    switch (turn % 13) {
      case 0:
        return x + y;
      case 1:
        return x * y;
      case 2:
        return matmul(x, y, false, true);
      case 3:
        return sum(x, {1});
      case 4:
        return exp(x);
      case 5:
        return x / y;
      case 6:
        return transpose(y);
      case 7:
        return maximum(x, y);
      case 8:
        return concat({x, y}, 0);
      case 9:
        return x[0];
      case 10:
        return softmax_cross_entropy_with_logits(y, x);
      case 11:
        return x.cast(DType::f64);
      default:
        // More shapes than kernels are kept.
        return full({1 + turn % 1009, 7}, static_cast<double>(turn % 3)) * 2.0;
    }
  }
};

}  // namespace

Body start_ops(Session&, std::int64_t) {
  return [ops = std::make_shared<Ops>()](std::int64_t turn) {
    if (turn % 1000 == 999) {
      must_fail([&] { too_large(); });
    } else {
      ops->one(turn);
    }
  };
}

Body start_sizes(Session& session, std::int64_t) {
  struct State {
    std::vector<Tensor> kept = std::vector<Tensor>(200);
    std::mt19937_64 random{1};
    std::int64_t live = 0, peak = 0;
    std::int64_t process = 0;  // what the ledger holds beside tensors
  };
  auto state = std::make_shared<State>();
  const Tensor first = zeros({1});
  state->process = session.host_held_bytes() - held_bytes(session);
  return [&session, state](std::int64_t) {
    State& all = *state;
    Tensor& place = all.kept[all.random() % all.kept.size()];
    // From 4 bytes to 1 MiB, as many small as large ones.
    const auto bits = all.random() % 19;
    const auto extent =
        static_cast<std::int64_t>(1 + all.random() % (1ull << bits));
    const auto units = [&] { return (place.bytes() + 63) / 64 * 64; };
    if (place.defined()) all.live -= units();
    place = {};
    place = zeros({extent});
    all.live += units();
    all.peak = std::max(all.peak, all.live);
    // What small ones share and what is at hand, beside what is alive; what an
    // op needs while it runs, beside the tenth.
    constexpr std::int64_t kBeside = 4 << 20, kOp = 16 << 10;
    const std::int64_t most =
        std::max(all.peak + all.peak / 10 + kOp, all.live + kBeside);
    // Mostly what the session says does; who holds it takes longer to ask.
    if (session.host_held_bytes() - all.process <= most) return;
    const std::int64_t held = held_bytes(session);
    if (held <= most) return;
    throw std::runtime_error("held " + std::to_string(held) + " bytes with " +
                             std::to_string(all.live) + " alive, " +
                             std::to_string(all.peak) + " at most\n" +
                             session.explain());
  };
}

Body start_products(Session&, std::int64_t size) {
  const std::int64_t rows = size == 0 ? 1000 : size;
  return [x = std::make_shared<Tensor>(ones({rows, 1000}))](std::int64_t turn) {
    *x = matmul(*x, random_normal({1000, 1000}, turn, 0, 0.03));
  };
}

Body start_functions(Session&, std::int64_t) {
  struct State {
    Variable w{random_normal({8, 1}, 1), "w"};
    OptimizerState adam{Adam{}};
  };
  auto state = std::make_shared<State>();
  const auto body = [state](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    const Tensor hidden = matmul(x, ones({x.shape()[1], 8}));
    const Tensor loss = mean_squared_error(y, matmul(hidden, state->w));
    state->adam.apply_gradients(tape.gradient(loss, {state->w}), {state->w});
    return loss;
  };
  auto step = std::make_shared<decltype(function(body))>(function(body));
  return [step](std::int64_t turn) {
    // Of four digits each, so that names of what is kept are of one length.
    const std::int64_t width = 1000 + turn * 7919 % 1000;
    const std::vector<float> x(static_cast<std::size_t>(4 * width), 0.5f);
    (*step)(Tensor::of(x, {4, width}),
            Tensor::of(std::vector<float>(4), {4, 1}));
    if (step->traces() == turn + 1) return;
    throw std::runtime_error("another shape was not traced");
  };
}

Body start_tapes(Session&, std::int64_t) {
  const Tensor x = random_uniform({16, 10}, 1);
  const Tensor y = random_uniform({16, 3}, 2);
  auto weights = std::make_shared<Tensor>(random_normal({10, 3}, 3));
  return [=](std::int64_t turn) {
    Tensor& w = *weights;
    const auto loss_of = [&](const Tensor& v) {
      return mean(square(relu(matmul(x, v)) - y));
    };
    const bool persistent = turn % 6 == 1;
    GradientTape tape({.persistent = persistent});
    tape.watch(w);
    switch (turn % 6) {
      case 2:  // never asked
        loss_of(w);
        return;
      case 3: {  // nested
        GradientTape inner;
        inner.watch(w);
        const Tensor first = inner.gradient(loss_of(w), w);
        w -= tape.gradient(sum(square(first)), w) * 1e-3;
        return;
      }
      case 4: {  // what does not fit, in mid-recording
        const Tensor loss = loss_of(w);
        must_fail([&] { loss_of(w) + too_large(); });
        w -= tape.gradient(loss, w) * 0.01;
        return;
      }
      case 5:  // an exception that leaves the tape's scope
        try {
          GradientTape inner;
          inner.watch(w);
          const Tensor loss = loss_of(w);
          throw std::runtime_error("the user's");
        } catch (const std::runtime_error&) {
        }
        return;
      default: {
        const Tensor loss = loss_of(w);
        w -= tape.gradient(loss, w) * 0.01;
        if (persistent) tape.gradient(loss, w);
      }
    }
  };
}

}  // namespace plimsoll::loops
