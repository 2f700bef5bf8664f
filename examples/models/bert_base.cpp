#include "models.h"

namespace plimsoll::examples {
namespace {

constexpr double kEpsilon = 1e-12;

LayerOutput encoder(const LayerOutput& x, const LayerOutput& mask,
                    const std::string& name, const BertSize& size) {
  auto y = MultiHeadAttention(size.heads, size.width / size.heads)
               .named(name + "_attention")({x}, mask);
  y = Add().named(name + "_add_1")({x, y});
  const auto middle = LayerNormalization(kEpsilon).named(name + "_ln_1")(y);
  y = Dense(4 * size.width, gelu).named(name + "_up")(middle);
  y = Dense(size.width).named(name + "_down")(y);
  y = Add().named(name + "_add_2")({middle, y});
  return LayerNormalization(kEpsilon).named(name + "_ln_2")(y);
}

}  // namespace

Example bert_base(const BertSize& size) {
  const std::int64_t tokens = size.tokens;
  const auto x = Input({3 * tokens});
  const auto words = Slice(0, tokens).named("words")(x);
  const auto segments = Slice(tokens, 2 * tokens).named("segments")(x);
  const auto mask = Slice(2 * tokens, 3 * tokens).named("mask")(x);
  auto y = Add().named("embeddings")(
      {Embedding(size.vocabulary, size.width).named("word_embedding")(words),
       Embedding(2, size.width).named("segment_embedding")(segments)});
  y = PositionEmbedding(size.context).named("positions")(y);
  y = LayerNormalization(kEpsilon).named("embeddings_ln")(y);
  for (std::int64_t i = 0; i < size.layers; ++i) {
    y = encoder(y, mask, "layer_" + std::to_string(i), size);
  }
  y = Dense(size.width, gelu).named("transform")(y);
  y = LayerNormalization(kEpsilon).named("transform_ln")(y);
  y = TiedDense(size.vocabulary, "word_embedding").named("head")(y);
  // Random words are 0 and 1, since segments and masks can be nothing else.
  return {
      "bert_base",
      Model(x, y),
      data::random(size.examples, {3 * tokens}, data::Dataset::Labels::classes,
                   {tokens}, size.vocabulary, 2)
          .shuffle()
          .batch(size.batch)
          .prefetch(),
      {.optimizer = AdamW{.learning_rate = 1e-4, .weight_decay = 0.01},
       .loss = sparse_categorical_crossentropy},
      "16GiB"};
}

}  // namespace plimsoll::examples
