#include <memory>

#include "loops.h"

namespace plimsoll::loops {
namespace {

struct Set {
  static constexpr int kExamples = 16, kFeatures = 4;
  std::vector<float> x, y;

  Set() {
    for (int i = 0; i < kExamples * kFeatures; ++i) {
      x.push_back(static_cast<float>((i * 37 % 101) - 50) / 50);
    }
    for (int i = 0; i < kExamples; ++i) y.push_back(static_cast<float>(i % 2));
  }
  data::Dataset batches() const {
    return data::from_arrays(x.data(), {kFeatures}, y.data(), {}, kExamples)
        .batch(8);
  }
};

std::shared_ptr<Model> make_model(Session& session) {
  auto model = std::make_shared<Sequential>(
      Sequential{Dense(8, relu), Dense(1, sigmoid)});
  model->compile(session, {.loss = binary_crossentropy});
  return model;
}

}  // namespace

Body start_fit(Session& session, std::int64_t) {
  return [set = std::make_shared<Set>(), model = make_model(session)](
             std::int64_t) { model->fit(set->batches()); };
}

Body start_models(Session& session, std::int64_t) {
  return [&session, set = std::make_shared<Set>()](std::int64_t) {
    make_model(session)->fit(set->batches());
  };
}

}  // namespace plimsoll::loops
