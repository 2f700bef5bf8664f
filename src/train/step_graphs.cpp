#include "train/step_graphs.h"

#include <fmt/core.h>

#include "graph/autodiff.h"
#include "graph/passes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduction/reduction.h"
#include "ops/standard_ops.h"
#include "ops/update/update.h"
#include "train/precision.h"
#include "train/row_gradients.h"

namespace plimsoll::train {
namespace {

using graph::Builder;
using graph::Role;
using graph::TensorType;
using graph::ValueId;

class GraphMaker {
 public:
  GraphMaker(const ModelSpec& model, const TrainSpec& train,
             const Shape& stored_label, const std::string& home, DType features)
      : model_(model), train_(train), stored_label_(stored_label), home_(home) {
    graphs_.features = features;
  }

  Result<StepGraphs> run() {
    PLIMSOLL_RETURN_IF_ERROR(check());
    PLIMSOLL_ASSIGN(graphs_.predict, predict());
    PLIMSOLL_ASSIGN(graphs_.evaluate, evaluate());
    PLIMSOLL_ASSIGN(graphs_.train, train());
    if (accumulates()) {
      PLIMSOLL_ASSIGN(graphs_.update, update());
      if (uses_batch_statistics(model_)) {
        graphs_.notes.push_back(
            "Gradients of several batches are summed, but each batch is "
            "normalized by its own statistics.");
      }
    }
    return std::move(graphs_);
  }

 private:
  Status check() const {
    if (!is_floating(train_.precision)) {
      return Error{ErrorCode::bad_input,
                   fmt::format("train.precision: f32, bf16, f16 or f64, not {}",
                               name_of(train_.precision))};
    }
    if (train_.accumulation_steps < 1 ||
        train_.accumulation_steps > kMostAccumulationSteps) {
      return Error{
          ErrorCode::bad_input,
          fmt::format("train.accumulation_steps: must be from 1 to {}, not {}",
                      kMostAccumulationSteps, train_.accumulation_steps)};
    }
    if (model_.input.empty()) {
      return Error{ErrorCode::bad_input,
                   "model.input: give the shape of one example, as in [1000]"};
    }
    return {};
  }

  ValueId features(Builder& builder) const {
    std::vector<Dim> dims = {Dim::batch()};
    for (const std::int64_t extent : model_.input) dims.emplace_back(extent);
    return builder.input("features",
                         {graphs_.features, Shape(std::move(dims))});
  }

  NetworkOptions how(bool training) const {
    return {training, train_.seed, ValueId(), home_, train_.precision};
  }

  Result<graph::Graph> finish(Builder& builder) const {
    PLIMSOLL_ASSIGN(graph::Graph graph, std::move(builder).finish());
    return graph::optimize(std::move(graph), ops::standard_ops());
  }

  Result<graph::Graph> predict() {
    Builder builder;
    const ValueId input = features(builder);
    PLIMSOLL_ASSIGN(Network network,
                    build_network(builder, model_, input, how(false)));
    builder.output(network.output);
    graphs_.output = builder.type(network.output);
    graphs_.layer_types = network.layer_types;
    graphs_.parameters = network.parameters;
    graphs_.statistics = network.statistics;
    graphs_.notes = notes_on_loss(train_, network, builder);
    return finish(builder);
  }

  // The labels' input, and sums of loss and metrics added to their states.
  // Returns the loss of each example.
  Result<ValueId> score(Builder& builder, const Network& network) {
    PLIMSOLL_ASSIGN(graphs_.labels,
                    label_type(train_.loss, builder.type(network.output).shape,
                               master_dtype(train_.precision), stored_label_));
    const ValueId labels =
        builder.input("labels", {graphs_.labels.dtype, graphs_.labels.shape});
    PLIMSOLL_ASSIGN(const ValueId losses,
                    example_losses(builder, train_.loss, network, labels,
                                   logits_are_whole(train_, network, builder)));
    add_to_metric(builder, kLossSum, losses);
    for (const std::string& metric : train_.metrics) {
      PLIMSOLL_ASSIGN(
          const ValueId values,
          example_metric(builder, metric, train_.loss, network, labels));
      add_to_metric(builder, metric_sum(metric), values);
    }
    return losses;
  }

  static void add_to_metric(Builder& builder, const std::string& name,
                            ValueId values) {
    const ValueId sum =
        builder.state(name, Role::metric, {DType::f64, Shape{}});
    builder.set_scope(name);
    const ValueId batch_sum = ops::reduce_sum(builder, values, {});
    builder.assign(sum, ops::accumulate(builder, sum, batch_sum));
  }

  Result<graph::Graph> evaluate() {
    Builder builder;
    const ValueId input = features(builder);
    PLIMSOLL_ASSIGN(const Network network,
                    build_network(builder, model_, input, how(false)));
    PLIMSOLL_RETURN_IF_ERROR(score(builder, network));
    return finish(builder);
  }

  bool accumulates() const { return train_.accumulation_steps > 1; }
  TensorType scalar() const {
    return {master_dtype(train_.precision), Shape{}};
  }
  static TensorType counter() { return {DType::i64, Shape{}}; }
  // The state, where there is one: not where nothing has a gradient.
  ValueId loss_scale(Builder& builder) const {
    if (graphs_.parameters.empty()) return {};
    if (!needs_loss_scale(model_, train_.precision)) return {};
    return builder.state(kLossScale, Role::counter, scalar());
  }

  Result<graph::Graph> train() {
    Builder builder;
    const ValueId input = features(builder);
    NetworkOptions options = how(true);
    if (uses_dropout(model_)) {
      options.random_step =
          builder.state(kRandomStep, Role::counter, counter());
    }
    PLIMSOLL_ASSIGN(const Network network,
                    build_network(builder, model_, input, options));
    PLIMSOLL_ASSIGN(const ValueId losses, score(builder, network));

    builder.set_scope("loss");
    // The loss is sum * share: its gradient is the sum's, begun with the share.
    const ValueId sum = ops::reduce_sum(builder, losses, {});
    const ValueId share =
        builder.state(kInverseExamples, Role::counter, scalar());
    const ValueId scale = loss_scale(builder);
    const ValueId seed =
        scale.valid() ? ops::multiply(builder, share, scale) : share;
    if (!builder.ok()) return builder.status().error();
    std::vector<ValueId> wanted;
    for (const Parameter& parameter : network.parameters) {
      wanted.push_back(parameter.value);
    }
    const auto made =
        graph::add_gradients(builder, sum, seed, wanted, ops::standard_ops());
    if (!made) return of_layer(network, made.error());
    const std::vector<ValueId>& gradients = *made;
    note_whole_tables(builder, network.parameters, gradients);
    builder.set_phase(graph::Phase::update);
    if (accumulates()) {
      sum_up(builder, network.parameters, gradients);
    } else {
      PLIMSOLL_RETURN_IF_ERROR(
          add_update(builder, network.parameters, gradients, scale));
    }
    if (options.random_step.valid()) {
      builder.set_scope("counters");
      builder.assign(options.random_step,
                     ops::increment(builder, options.random_step));
    }
    return finish(builder);
  }

  // With the layer whose weights no gradient reaches, if that is what it says.
  Error of_layer(const Network& network, Error error) const {
    const auto names = layer_names(model_);
    for (const Parameter& one : network.parameters) {
      if (error.message != graph::no_gradient_reaches(one.name).message) {
        continue;
      }
      std::size_t owner = names.size();  // a name may begin another's
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (one.name.starts_with(names[i] + "/") &&
            (owner == names.size() || names[i].size() > names[owner].size())) {
          owner = i;
        }
      }
      if (owner == names.size()) break;
      const std::string& where = model_.layers[owner].where;
      error.message = fmt::format(
          "{}: its weights cannot be trained: {}; what is read as a mask "
          "alone gets no gradient",
          where.empty() ? names[owner] : where + " (" + names[owner] + ")",
          error.message);
      break;
    }
    return error;
  }

  // Of tables whose gradient could have been the rows of a batch.
  void note_whole_tables(const Builder& builder,
                         std::span<const Parameter> parameters,
                         std::span<const ValueId> gradients) {
    const std::string why = why_whole_tables();
    if (why.empty()) return;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!rows_of(builder, gradients[i])) continue;
      graphs_.notes.push_back(fmt::format(
          "The gradient of `{}` is held as a whole table {}: without that, a "
          "step would hold the rows of its batch alone.",
          parameters[i].name, why));
    }
  }

  std::string why_whole_tables() const {
    const OptimizerSpec& optimizer = train_.optimizer;
    if (accumulates()) return "to be summed over batches";
    if (needs_whole_tables(optimizer)) {
      return fmt::format("for {}", optimizer.type);
    }
    if (optimizer.clipvalue > 0) return "for clipvalue";
    const bool by_norm =
        optimizer.clipnorm > 0 || optimizer.global_clipnorm > 0;
    return by_norm ? "for its norm" : "";
  }

  // Adds the gradients to states, and notes these for the update's graph.
  void sum_up(Builder& builder, std::span<const Parameter> parameters,
              std::span<const ValueId> gradients) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Parameter& parameter = parameters[i];
      const TensorType type = builder.type(parameter.value);
      const graph::Place place = builder.graph().place_of(parameter.value);
      summed_.push_back({parameter, type, place});
      builder.set_scope(parameter.name);
      builder.set_place(place);
      const ValueId total =
          builder.state(gradient_sum(parameter.name), Role::gradient, type);
      builder.assign(total, ops::add(builder, total, gradients[i]));
    }
    builder.set_place(graph::Place::home);
  }

  Result<graph::Graph> update() {
    Builder builder;
    builder.set_phase(graph::Phase::update);
    std::vector<Parameter> parameters;
    std::vector<ValueId> totals;
    for (const Summed& summed : summed_) {
      const std::string& name = summed.parameter.name;
      builder.set_place(summed.place);
      parameters.push_back(summed.parameter);
      parameters.back().value =
          builder.state(name, Role::parameter, summed.type);
      totals.push_back(
          builder.state(gradient_sum(name), Role::gradient, summed.type));
    }
    builder.set_place(graph::Place::home);
    PLIMSOLL_RETURN_IF_ERROR(
        add_update(builder, parameters, totals, loss_scale(builder)));
    // Ready for the next group, whatever was in them: no product with 0.
    for (std::size_t i = 0; i < summed_.size(); ++i) {
      builder.set_scope(summed_[i].parameter.name);
      builder.set_place(summed_[i].place);
      builder.assign(totals[i], ops::constant(builder, summed_[i].type, 0));
    }
    return finish(builder);
  }

  Status add_update(Builder& builder, std::span<const Parameter> parameters,
                    std::span<const ValueId> gradients, ValueId scale) {
    PLIMSOLL_ASSIGN(const UpdateCounters counters,
                    add_counters(builder, train_.optimizer, scalar().dtype));
    const ValueId step = counters.step;
    UpdateScalars scalars{counters.rate, {}, {}};
    if (scale.valid()) {
      const ops::LossScaling scaling{
          scale, builder.state(kGoodSteps, Role::counter, counter()), step};
      const ops::ScaledStep next = ops::scale_step(
          builder, scaling, finite_gradients(builder, parameters, gradients));
      scalars.step = next.next.step;
      scalars.gate = next.gate;
      builder.assign(scaling.scale, next.next.scale);
      builder.assign(scaling.good_steps, next.next.good_steps);
    } else {
      scalars.step = ops::increment(builder, step);
    }
    if (accumulates()) {
      const ValueId group = builder.state(kGroupScale, Role::counter, scalar());
      scalars.gate = scalars.gate.valid()
                         ? ops::multiply(builder, scalars.gate, group)
                         : group;
    }
    PLIMSOLL_ASSIGN(
        graphs_.starts,
        add_updates(builder, train_.optimizer, parameters, gradients, scalars));
    builder.set_scope("counters");
    builder.assign(step, scalars.step);
    return builder.status();
  }

  // A parameter whose gradients are summed.
  struct Summed {
    Parameter parameter;
    TensorType type;
    graph::Place place;
  };

  const ModelSpec& model_;
  const TrainSpec& train_;
  const Shape& stored_label_;
  const std::string& home_;
  std::vector<Summed> summed_;
  StepGraphs graphs_;
};

}  // namespace

std::string metric_sum(const std::string& metric) { return "metric/" + metric; }

std::string gradient_sum(const std::string& parameter) {
  return parameter + "/gradient";
}

Result<StepGraphs> build_step_graphs(const ModelSpec& model,
                                     const TrainSpec& train,
                                     const Shape& stored_label,
                                     const std::string& home,
                                     std::optional<DType> indices) {
  return GraphMaker(model, train, stored_label, home,
                    indices.value_or(input_dtype(model, train.precision)))
      .run();
}

}  // namespace plimsoll::train
