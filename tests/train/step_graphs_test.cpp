// What the graphs of a step hold.
#include "train/step_graphs.h"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace plimsoll::train
