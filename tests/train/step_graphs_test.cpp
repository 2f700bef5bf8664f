// What the graphs of a step hold, and what they make again.
#include "train/step_graphs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/passes.h"

namespace plimsoll::train {
namespace {

LayerSpec dense(std::int64_t units, std::string activation, bool bias) {
  LayerSpec layer;
  layer.type = "dense";
  layer.units = units;
  layer.activation = std::move(activation);
  layer.use_bias = bias;
  return layer;
}

StepGraphs graphs_of(ModelSpec model, std::int64_t batch) {
  TrainSpec train;
  train.batch = batch;
  train.loss = "sparse_categorical_crossentropy";
  auto made = build_step_graphs(model, train, Shape{}, "cpu");
  EXPECT_TRUE(made.ok()) << made.error().message;
  return *std::move(made);
}

std::int64_t count(const graph::Graph& graph, std::string_view op,
                   graph::Phase phase) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                       [&](const graph::Node& node) {
                         return node.op->name == op && node.phase == phase;
                       });
}

// Logits of few rows cost little beside a wide weight, making them twice does.
TEST(StepGraphs, TheLossTakesTheLastProductInWhereRowsAreMany) {
  const ModelSpec model{{64}, {dense(64, "", true), dense(5000, "", false)}};
  const auto losses = [&](std::int64_t batch) {
    return count(graphs_of(model, batch).train, "linear_cross_entropy",
                 graph::Phase::forward);
  };
  EXPECT_EQ(losses(32), 0);
  EXPECT_EQ(losses(33), 1);
}

// gelu's gradient reads what gelu reads: its result need not be kept. Layers
// near the loss keep theirs, which is wanted at once.
TEST(StepGraphs, ActivationsOfWhatIsKeptAreMadeAgain) {
  ModelSpec model{{32768}, {}};
  constexpr int kLayers = 6;
  for (int i = 0; i < kLayers; ++i) {
    model.layers.push_back(dense(32768, "gelu", true));
  }
  model.layers.push_back(dense(10, "", true));
  const graph::Graph train = graphs_of(model, 4).train;
  const std::int64_t remade = graph::count_remade(train);
  EXPECT_GE(remade, kLayers - 3) << train.to_string();
  EXPECT_LE(remade, kLayers);
  // An instruction more would cost more than so few bytes are worth.
  ModelSpec narrow = model;
  narrow.input = {64};
  for (int i = 0; i < kLayers; ++i) {
    narrow.layers[static_cast<std::size_t>(i)].units = 64;
  }
  EXPECT_EQ(graph::count_remade(graphs_of(narrow, 4).train), 0);
}

}  // namespace
}  // namespace plimsoll::train
