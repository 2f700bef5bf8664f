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

// A softmax changes nothing of the logits.
TEST(StepGraphs, TheLossTakesTheLastProductInUnderASoftmaxToo) {
  for (const bool bias : {false, true}) {
    const ModelSpec model{{64}, {dense(5000, "softmax", bias)}};
    EXPECT_EQ(count(graphs_of(model, 64).train, "linear_cross_entropy",
                    graph::Phase::forward),
              1);
  }
  const ModelSpec other{{64}, {dense(5000, "relu", false)}};
  EXPECT_EQ(count(graphs_of(other, 64).train, "linear_cross_entropy",
                  graph::Phase::forward),
            0);
}

// The loss would be f32 there.
TEST(StepGraphs, ANarrowLastLayerOfAJobInF64HasWholeLogits) {
  for (const auto& [activation, bias] :
       {std::pair{"", false}, std::pair{"softmax", false},
        std::pair{"softmax", true}}) {
    ModelSpec model{{64}, {dense(5000, activation, bias)}};
    TrainSpec train;
    train.batch = 64;
    train.loss = "sparse_categorical_crossentropy";
    train.precision = DType::f64;
    for (const auto& [precision, products] :
         {std::pair{"f32", 0}, std::pair{"bf16", 0}, std::pair{"", 1}}) {
      model.layers[0].precision = precision;
      const auto made = build_step_graphs(model, train, Shape{}, "cpu");
      ASSERT_TRUE(made) << made.error().message;
      EXPECT_EQ(
          count(made->train, "linear_cross_entropy", graph::Phase::forward),
          products);
    }
  }
}

// Nor does its weight: what crosses is a loss for each example.
TEST(StepGraphs, TheLossTakesTheLastProductInWhereItsLayerRuns) {
  for (const char* device : {"cpu", ""}) {
    ModelSpec model{{64}, {dense(64, "", true), dense(5000, "", true)}};
    model.layers.back().device = device;
    TrainSpec train;
    train.batch = 64;
    train.loss = "sparse_categorical_crossentropy";
    const auto made = build_step_graphs(model, train, Shape{}, "cuda:0");
    ASSERT_TRUE(made) << made.error().message;
    int found = 0;
    for (const graph::Node& node : made->train.nodes) {
      if (!node.op->name.starts_with("linear_cross_entropy")) continue;
      ++found;
      EXPECT_EQ(node.place == graph::Place::home, *device == '\0');
    }
    EXPECT_EQ(found, 2);
  }
}

TEST(StepGraphs, ABiasOfManyClassesIsF32BesideHalves) {
  const ModelSpec model{{64}, {dense(64, "", true), dense(5000, "", true)}};
  TrainSpec train;
  train.batch = 64;
  train.loss = "sparse_categorical_crossentropy";
  for (const DType precision : {DType::bf16, DType::f16}) {
    train.precision = precision;
    for (const int parts : {1, 2}) {
      train.accumulation_steps = parts;
      const auto made = build_step_graphs(model, train, Shape{}, "cpu");
      ASSERT_TRUE(made) << made.error().message;
      EXPECT_EQ(
          count(made->train, "linear_cross_entropy", graph::Phase::forward), 1);
    }
  }
}

// Names may hold slashes: attention's own bias has this name, too.
TEST(StepGraphs, AHeadWithoutABiasTakesNoOthers) {
  LayerSpec table;
  table.type = "embedding";
  table.name = "words";
  table.input_dim = 5000;
  table.output_dim = 64;
  LayerSpec attention;
  attention.type = "multi_head_attention";
  attention.name = "head";
  attention.num_heads = 2;
  attention.key_dim = 32;
  LayerSpec last = dense(5000, "", false);
  last.name = "head/query";
  last.shared_with = "words";
  const ModelSpec model{{40}, {table, attention, last}};
  TrainSpec train;
  train.batch = 4;
  train.loss = "sparse_categorical_crossentropy";
  const auto made =
      build_step_graphs(model, train, Shape{40}, "cpu", DType::i32);
  ASSERT_TRUE(made) << made.error().message;
  for (const graph::Node& node : made->train.nodes) {
    if (node.op->name == "linear_cross_entropy") {
      EXPECT_EQ(node.inputs.size(), 3U);
    }
  }
}

bool has_note(const StepGraphs& graphs, std::string_view part) {
  return std::any_of(graphs.notes.begin(), graphs.notes.end(),
                     [&](const std::string& note) {
                       return note.find(part) != std::string::npos;
                     });
}

TEST(StepGraphs, WholeLogitsOfManyClassesAreNoted) {
  const ModelSpec bent{{64}, {dense(5000, "relu", true)}};
  EXPECT_TRUE(has_note(graphs_of(bent, 64), "without an activation"));
  const ModelSpec few{{64}, {dense(4000, "relu", true)}};
  EXPECT_FALSE(has_note(graphs_of(few, 64), "without an activation"));
  const ModelSpec plain{{64}, {dense(5000, "", true)}};
  EXPECT_FALSE(has_note(graphs_of(plain, 64), "without an activation"));
}

TEST(StepGraphs, OutputsTakenAsProbabilitiesAreNoted) {
  TrainSpec train;
  train.loss = "binary_crossentropy";
  for (const char* activation : {"sigmoid", "relu", ""}) {
    const ModelSpec model{{64}, {dense(1, activation, true)}};
    const auto made = build_step_graphs(model, train, Shape{}, "cpu");
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(has_note(*made, "taken as probabilities"),
              std::string_view(activation) != "sigmoid");
  }
}

TEST(StepGraphs, GradientsOfWholeTablesAreNoted) {
  LayerSpec table;
  table.type = "embedding";
  table.input_dim = 100;
  table.output_dim = 8;
  LayerSpec flat;
  flat.type = "flatten";
  const ModelSpec model{{4}, {table, flat, dense(10, "", true)}};
  TrainSpec train;
  train.loss = "sparse_categorical_crossentropy";
  const auto notes = [&] {
    const auto made =
        build_step_graphs(model, train, Shape{}, "cpu", DType::i32);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made && has_note(*made, "embeddings` is held as a whole table");
  };
  EXPECT_FALSE(notes());
  train.optimizer.global_clipnorm = 1;
  EXPECT_TRUE(notes());
  train.optimizer.global_clipnorm = 0;
  train.optimizer.clipvalue = 1;
  EXPECT_TRUE(notes());
  train.optimizer.clipvalue = 0;
  train.optimizer.type = "lamb";
  EXPECT_TRUE(notes());
  train.optimizer.type = "adam";
  train.accumulation_steps = 2;
  EXPECT_TRUE(notes());
}

}  // namespace
}  // namespace plimsoll::train
