// The names of activations mean the same in job files, in C++ and in graphs.
#include <gtest/gtest.h>

#include <map>

#include "plimsoll/layers.h"
#include "train/job_file/job_names.h"
#include "train/network.h"

namespace plimsoll::train {
namespace {

// The op that an activation layer becomes.
Result<graph::Node> node_of(const std::string& activation) {
  graph::Builder builder;
  const auto input = builder.input("x", {DType::f32, {Dim::batch(), 4}});
  LayerSpec layer;
  layer.type = "activation";
  layer.activation = activation;
  ModelSpec model;
  model.layers = {layer};
  PLIMSOLL_ASSIGN(const Network network,
                  build_network(builder, model, input, {}));
  EXPECT_EQ(network.last_activation, activation);
  return builder.graph().nodes.at(0);
}

TEST(Activations, NamesBecomeTheirOps) {
  const std::map<std::string_view, std::string_view> other_names = {
      {"swish", "silu"}, {"relu6", "maximum_scalar"}};
  for (const std::string_view name : activations()) {
    if (name == "linear") continue;
    const auto node = node_of(std::string(name));
    ASSERT_TRUE(node.ok()) << node.error().message;
    const auto other = other_names.find(name);
    EXPECT_EQ(node->op->name,
              other == other_names.end() ? name : other->second);
  }
  EXPECT_EQ(node_of("elu")->attrs.get<double>("scalar"), 1);
}

TEST(Activations, ConstantsAreNamesOfTheJobFile) {
  for (const ActivationFunction function :
       {linear, relu, relu6, leaky_relu, sigmoid, plimsoll::tanh, gelu,
        gelu_tanh, silu, swish, elu, softplus, softmax}) {
    EXPECT_TRUE(contains(activations(), function.name)) << function.name;
  }
}

TEST(Activations, AnUnknownOneIsRefusedWithTheKnownOnes) {
  const auto refused = node_of("gelu_tan");
  ASSERT_FALSE(refused.ok());
  for (const std::string_view name : activations()) {
    EXPECT_NE(refused.error().message.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace plimsoll::train
