// Models with branches, in C++: what they compute, and losses over sequences.
#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "plimsoll/plimsoll.h"
#include "train/initial_state.h"

namespace plimsoll::train::testing {
namespace {

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Exception& error) {
    return error.what();
  }
  return "(no error)";
}

data::Dataset numbers(std::int64_t width) {
  return data::random(40, {width}, data::Dataset::Labels::uniform, {3})
      .batch(8);
}

// y = b + x A + (x A + a) B, by the weights that training left.
TEST(Functional, ASkipComputesWhatItSays) {
  Session session({.host = "1GiB", .threads = 2});
  const auto x = Input({4});
  const auto a = Dense(3).named("a")(x);
  const auto b = Dense(3).named("b")(a);
  Model model(x, Add()({a, b}));
  model.compile(session, {.precision = "f64"});
  std::vector<float> features, labels;
  for (int i = 0; i < 32; ++i)
    features.push_back(std::sin(static_cast<float>(i)));
  for (int i = 0; i < 24; ++i)
    labels.push_back(std::cos(static_cast<float>(i)));
  const auto data =
      data::from_arrays(features.data(), {4}, labels.data(), {3}, 8).batch(8);
  model.fit(data, {.epochs = 2});
  const auto made = model.predict(data);
  const auto A = model.weights("a/kernel"), ab = model.weights("a/bias");
  const auto B = model.weights("b/kernel"), bb = model.weights("b/bias");
  for (std::size_t i = 0; i < 8; ++i) {
    std::vector<double> first = ab;
    for (std::size_t k = 0; k < 4; ++k) {
      for (std::size_t j = 0; j < 3; ++j) {
        first[j] += features[4 * i + k] * A[3 * k + j];
      }
    }
    for (std::size_t j = 0; j < 3; ++j) {
      double sum = bb[j] + first[j];
      for (std::size_t k = 0; k < 3; ++k) sum += first[k] * B[3 * k + j];
      EXPECT_NEAR(made[3 * i + j], sum, 1e-5);
    }
  }
}

// As in Keras: gates in, forget, candidate, out.
TEST(Functional, TheForgetGateOfAnLstmStartsOpen) {
  Session session({.host = "1GiB", .threads = 2});
  const auto bias_of = [&](Layer lstm) {
    Sequential model{std::move(lstm), Dense(3)};
    model.compile(session, {.optimizer = SGD{.learning_rate = 1e-30}});
    model.fit(
        data::random(8, {5, 2}, data::Dataset::Labels::uniform, {3}).batch(8),
        {.epochs = 1});
    auto bias = model.weights("lstm_1/bias");
    for (double& value : bias) value = std::round(value);  // of such a rate
    return bias;
  };
  using Values = std::vector<double>;
  EXPECT_EQ(bias_of(LSTM(2)), (Values{0, 0, 1, 1, 0, 0, 0, 0}));
  Layer closed = LSTM(2);
  closed.unit_forget_bias = false;
  EXPECT_EQ(bias_of(closed), Values(8, 0));
}

TEST(Functional, ParametersStartAlikeInPieces) {
  Parameter parameter{"bias", {}, "he_normal", 3, 5};
  parameter.ones_begin = 4;
  parameter.ones_end = 7;
  const auto values = [&](std::int64_t first, std::int64_t count) {
    std::vector<float> piece(static_cast<std::size_t>(count));
    initialize(parameter, DType::f32, 9, 2, first,
               std::as_writable_bytes(std::span(piece)));
    return piece;
  };
  const std::vector<float> whole = values(0, 10);
  for (std::int64_t first = 0; first < 10; ++first) {
    for (std::int64_t count = 0; first + count <= 10; ++count) {
      const auto begin = whole.begin() + first;
      EXPECT_EQ(values(first, count), std::vector(begin, begin + count));
    }
    EXPECT_EQ(whole[static_cast<std::size_t>(first)] == 1,
              first >= 4 && first < 7);
  }
}

TEST(Functional, BothBranchesLearn) {
  Session session({.host = "1GiB", .threads = 2});
  const auto x = Input({4});
  const auto left = Dense(5, relu).named("left")(Slice(0, 2)(x));
  const auto right = Dense(5, plimsoll::tanh).named("right")(Slice(2, 4)(x));
  Model model(x, Dense(3)(Concatenate()({left, right})));
  model.compile(session, {});
  const auto history = model.fit(numbers(4), {.epochs = 1});
  const auto before_left = model.weights("left/kernel");
  const auto before_right = model.weights("right/kernel");
  EXPECT_EQ(history.forecast_host_bytes, history.measured_host_bytes);
  EXPECT_LT(model.fit(numbers(4), {.epochs = 3}).loss.back(), history.loss[0]);
  EXPECT_NE(model.weights("left/kernel"), before_left);
  EXPECT_NE(model.weights("right/kernel"), before_right);
}

TEST(Functional, MistakesAreNamed) {
  Session session({.host = "1GiB", .threads = 1});
  const auto x = Input({4});
  const auto other = Input({4});
  EXPECT_EQ(error_of([&] { Model(x, x); }),
            "the model's output is its input: it needs at least one layer");
  EXPECT_EQ(error_of([&] {
              Model(x, Add()({x, Dense(4)(other)}));
            }),
            "the model's output comes from another input too: a model has one");
  Model model(x, Dense(3)(x));
  EXPECT_EQ(error_of([&] {
              model.compile(session, {.metrics = {"accuracy", "accuracy"}});
            }),
            "metric `accuracy` is there twice");
  model.compile(session, {});
  const auto sequence = Input({5, 4});
  const auto keep = Dense(5).named("keep")(sequence);
  Model masked(sequence,
               Dense(3)(Flatten()(MultiHeadAttention(2, 4)(
                   std::vector{sequence, sequence, sequence}, keep))));
  masked.compile(session, {});
  EXPECT_EQ(error_of([&] {
              masked.plan(
                  data::random(40, {5, 4}, data::Dataset::Labels::uniform, {3})
                      .batch(8));
            }),
            "keep: its weights cannot be trained: the loss does not depend on "
            "`keep/kernel`; what is read as a mask alone gets no gradient");
  // The name of a layer may begin another's.
  const auto first = Dense(4).named("a")(sequence);
  const auto mask = Dense(5).named("a/b")(sequence);
  Model slashed(sequence, Dense(3)(Flatten()(MultiHeadAttention(2, 4)(
                              std::vector{first, first, first}, mask))));
  slashed.compile(session, {});
  EXPECT_EQ(error_of([&] {
              slashed.plan(
                  data::random(40, {5, 4}, data::Dataset::Labels::uniform, {3})
                      .batch(8));
            }).substr(0, 5),
            "a/b: ");
  EXPECT_EQ(error_of([&] { model.plan(numbers(5)); }),
            "random: 40 examples of [5], made as they are read: an example has "
            "shape [5], but the model's input is [4]");
}

// Before there is a session or any data.
TEST(Functional, MistakesAreNamedWhenTheModelIsBuilt) {
  const auto x = Input({4});
  EXPECT_EQ(error_of([&] {
              Model(x, Dense(3)(Add()({Dense(2)(x), x})));
            }),
            "add_1: add needs inputs of one shape, not [B, 2] and [B, 4]");
  EXPECT_EQ(error_of([&] { Model(x, Dense(3)(std::vector<LayerOutput>())); }),
            "dense_1: is called with no input");
  const LayerOutput empty(nullptr);
  for (const auto& act : std::vector<std::function<void()>>{
           [&] { Model(x, empty); }, [&] { Model(empty, Dense(3)(x)); },
           [&] { Model(x, Dense(3)(empty)); }}) {
    EXPECT_EQ(error_of(act),
              "an empty LayerOutput: a model is made of what Input() and calls "
              "of layers give");
  }
  for (const std::int64_t extent : {0, -4}) {
    const auto none = Input({extent});
    EXPECT_EQ(error_of([&] { Model(none, Dense(3)(none)); }),
              "the model's input: must have extents from 1 on, and less than "
              "2^40 elements, not [" +
                  std::to_string(extent) + "]");
  }
  const auto rows = Input({6, 4});
  const auto mask = Reshape({6})(Slice(0, 1)(rows));
  EXPECT_EQ(error_of([&] { Model(rows, LSTM(3)({rows}, mask)); }),
            "lstm_1: lstm takes no `mask`");
  EXPECT_EQ(error_of([&] { Model(rows, Dense(3).named("d")({rows}, mask)); }),
            "d: dense takes no `mask`");
  EXPECT_EQ(error_of([&] {
              Model(rows, Add()({rows, rows}, mask));
            }),
            "add_1: add takes no `mask`");
  EXPECT_EQ(error_of([&] { Layer()(x); }),
            "a layer without a type: layers are made by functions, as in "
            "Dense(10)");
  // In the type that most models are for.
  const auto image = Input({8, 8, 3});
  const std::string small = error_of([&] {
    Model(image, Conv2D(16, {9, 9})(image));
  });
  EXPECT_NE(small.find("conv2d(f32[B, 8, 8, 3], f32[16, 9, 9, 3])"),
            std::string::npos)
      << small;
  Layer wide = Dense(3);
  wide.precision = "f64";
  EXPECT_EQ(Model(x, wide(x)).parameters(), 15);
}

// The loss of guessing is the logarithm of the classes, however long the
// sequences are, and however the logits are held.
TEST(Functional, ALossOverSequencesIsAMean) {
  Session session({.host = "1GiB", .threads = 2});
  for (const std::int64_t classes : {7, 4096}) {
    for (const bool counted : {false, true}) {
      const auto x = Input({5});
      Layer last = Dense(classes);
      last.use_bias = false;
      last.kernel_initializer = "zeros";
      Model model(x, last(Embedding(classes, 4)(x)));
      CompileOptions options{.loss = sparse_categorical_crossentropy};
      if (counted) options.metrics = {"accuracy"};
      model.compile(session, options);
      const auto data = data::random(16, {5}, data::Dataset::Labels::classes,
                                     {5}, classes, classes)
                            .batch(8);
      EXPECT_NEAR(model.evaluate(data).loss,
                  std::log(static_cast<double>(classes)), 1e-4);
    }
  }
}

// What only moves rows of probabilities leaves them probabilities.
TEST(Functional, ASoftmaxBehindAMovingLayerIsAppliedOnce) {
  Session session({.host = "1GiB", .threads = 2});
  const auto data =
      data::random(16, {6, 2}, data::Dataset::Labels::classes, {6}, 4).batch(8);
  const auto loss = [&](const std::vector<Layer>& layers, const char* type) {
    const auto x = Input({6, 2});
    LayerOutput y = x;
    for (const Layer& layer : layers) y = layer(y);
    Model model(x, y);
    model.compile(session, {.optimizer = SGD{.learning_rate = 0.1},
                            .loss = sparse_categorical_crossentropy,
                            .metrics = {"accuracy"},
                            .precision = type});
    const auto history = model.fit(data, {.epochs = 2});
    return history.loss[1] + model.evaluate(data).loss;
  };
  const Layer last = Dense(4, softmax), image = Reshape({3, 2, 2});
  for (const char* type : {"f32", "f64", "bf16"}) {
    const auto plain = loss({last}, type);
    for (const std::vector<Layer>& layers :
         {std::vector{image, last, Reshape({6, 4})},
          {image, last, Reshape({2, 3, 4}), Reshape({-1, 4})},
          {last, Permute({1, 2})},
          {last, Activation(linear)}}) {
      EXPECT_NEAR(loss(layers, type), plain, 1e-3) << type;
    }
    // Classes and rows changed twice: the first is no row of classes any more.
    const double twice = loss({last, Permute({2, 1}), Permute({2, 1})}, type);
    EXPECT_GT(std::abs(twice - plain), 1e-2) << type;
  }
  const auto x = Input({6, 2});
  const auto y = last.named("classes")(x);
  Model model(x, Flatten()(Permute({2, 1})(y)));
  model.compile(session, {.loss = categorical_crossentropy});
  const std::string plan =
      model.plan(data::random(16, {6, 2}, data::Dataset::Labels::uniform, {24}))
          .json();
  EXPECT_NE(plan.find("behind the softmax of `classes` stands `permute_1`"),
            std::string::npos)
      << plan;
}

// Logits that are never whole give the same training, in less memory.
TEST(Functional, ManyClassesAreNeverWhole) {
  Session session({.host = "1GiB", .threads = 2});
  const auto data =
      data::random(32, {60}, data::Dataset::Labels::classes, {60}, 6000, 6000)
          .batch(16);
  const auto fit = [&](const Layer& last, std::vector<std::string> metrics,
                       std::int64_t* peak_bytes) {
    const auto x = Input({60});
    auto y = Embedding(6000, 8).named("words")(x);
    y = Dense(8, plimsoll::tanh)(y);
    Model model(x, last(y));
    model.compile(session, {.loss = sparse_categorical_crossentropy,
                            .metrics = std::move(metrics)});
    *peak_bytes = model.plan(data).host_peak_bytes();
    return model.fit(data, {.epochs = 3}).loss;
  };
  Layer biased = TiedDense(6000, "words");
  biased.use_bias = true;
  for (const Layer& last : {TiedDense(6000, "words"), biased, Dense(6000)}) {
    std::int64_t whole = 0, chunked = 0;
    const auto a = fit(last, {"accuracy"}, &whole);
    const auto b = fit(last, {}, &chunked);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(a[i], b[i], 1e-4);
    EXPECT_LT(a[2], a[0]);
    // 16 * 60 rows of 6,000 logits.
    EXPECT_LT(chunked, whole - 10'000'000);
  }
}

}  // namespace
}  // namespace plimsoll::train::testing
