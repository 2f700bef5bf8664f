#include "models.h"

namespace plimsoll::examples {
namespace {

LayerOutput dropped(const LayerOutput& x, double rate) {
  return rate > 0 ? Dropout(rate)(x) : x;
}

LayerOutput block(const LayerOutput& x, const std::string& name,
                  const Gpt2Size& size) {
  auto y = LayerNormalization(1e-5).named(name + "_ln_1")(x);
  y = MultiHeadAttention(size.heads, size.width / size.heads, {.causal = true})
          .named(name + "_attention")(y);
  const auto middle =
      Add().named(name + "_add_1")({x, dropped(y, size.dropout)});
  y = LayerNormalization(1e-5).named(name + "_ln_2")(middle);
  y = Dense(4 * size.width, gelu_tanh).named(name + "_up")(y);
  y = Dense(size.width).named(name + "_down")(y);
  return Add().named(name + "_add_2")({middle, dropped(y, size.dropout)});
}

}  // namespace

Example gpt2(const Gpt2Size& size) {
  const auto x = Input({size.tokens});
  auto y = Embedding(size.vocabulary, size.width).named("tokens")(x);
  y = PositionEmbedding(size.context).named("positions")(y);
  y = dropped(y, size.dropout);
  for (std::int64_t i = 0; i < size.layers; ++i) {
    y = block(y, "block_" + std::to_string(i), size);
  }
  y = LayerNormalization(1e-5).named("ln_f")(y);
  y = TiedDense(size.vocabulary, "tokens").named("head")(y);
  return {
      "gpt2",
      Model(x, y),
      data::random(size.examples, {size.tokens}, data::Dataset::Labels::classes,
                   {size.tokens}, size.vocabulary, size.vocabulary)
          .shuffle()
          .batch(size.batch)
          .prefetch(),
      {.optimizer = AdamW{.learning_rate = 6e-4,
                          .weight_decay = 0.1,
                          .beta_2 = 0.95,
                          .epsilon = 1e-8},
       .loss = sparse_categorical_crossentropy},
      "16GiB"};
}

}  // namespace plimsoll::examples
