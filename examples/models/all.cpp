#include "models.h"

namespace plimsoll::examples {
namespace {

// Built one by one: a model can be moved, not copied.
template <class... Made>
std::vector<Example> list(Made&&... made) {
  std::vector<Example> all;
  (all.push_back(std::move(made)), ...);
  return all;
}

}  // namespace

std::vector<Example> published_networks() {
  return list(conv28(), resnet50(), mobilenet_v2(), vgg16(), unet(), gpt2(),
              bert_base(), lstm_forecaster(), two_tower());
}

// Batch statistics are over so many pixels that rounding is not magnified.
std::vector<Example> small_networks() {
  return list(
      conv28({.image = 8, .resized = 10, .filters = 4, .batch = 8}),
      resnet50({.image = 16,
                .classes = 5,
                .width = 16,
                .blocks = {1, 1, 0, 0},
                .batch = 16}),
      mobilenet_v2({.image = 16,
                    .classes = 5,
                    .width = 1,
                    .kinds = 2,
                    .most = 1,
                    .last = 64,
                    .batch = 16}),
      vgg16({.image = 32, .classes = 10, .width = 2, .hidden = 12, .batch = 8}),
      unet({.image = 16, .channels = 2, .width = 4, .depth = 1, .batch = 4}),
      gpt2({.vocabulary = 90,
            .context = 16,
            .tokens = 12,
            .width = 16,
            .heads = 2,
            .layers = 2,
            .batch = 4}),
      bert_base({.vocabulary = 60,
                 .context = 16,
                 .tokens = 12,
                 .width = 32,
                 .heads = 2,
                 .layers = 2,
                 .batch = 8}),
      lstm_forecaster({.steps = 9, .features = 3, .units = 8, .batch = 8}),
      two_tower({.users = 30, .items = 40, .width = 6, .batch = 16}));
}

}  // namespace plimsoll::examples
