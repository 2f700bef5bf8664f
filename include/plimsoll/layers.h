// Layers by the names and with the defaults of Keras: plain values.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll {

class Tensor;

struct ActivationFunction {
  const char* name = "linear";

  // Of a tensor, at once: pl::relu(x).
  Tensor operator()(const Tensor& x) const;
};
inline constexpr ActivationFunction linear{"linear"};
inline constexpr ActivationFunction relu{"relu"};
inline constexpr ActivationFunction relu6{"relu6"};
inline constexpr ActivationFunction leaky_relu{"leaky_relu"};
inline constexpr ActivationFunction sigmoid{"sigmoid"};
inline constexpr ActivationFunction tanh{"tanh"};
inline constexpr ActivationFunction gelu{"gelu"};            // exact
inline constexpr ActivationFunction gelu_tanh{"gelu_tanh"};  // approximate
inline constexpr ActivationFunction silu{"silu"};
inline constexpr ActivationFunction swish{"swish"};  // silu's other name
inline constexpr ActivationFunction elu{"elu"};      // alpha is 1
inline constexpr ActivationFunction softplus{"softplus"};
inline constexpr ActivationFunction softmax{"softmax"};

class LayerOutput;

using Size2 = std::array<std::int64_t, 2>;  // height, width

// Around images: by a rule of Keras, or as many zeros as are given.
struct Padding {
  std::string rule;                       // "valid", "same"; empty: amounts
  std::array<std::int64_t, 4> amounts{};  // top, bottom, left, right

  Padding(const char* name) : rule(name) {}
  Padding(std::string name) : rule(std::move(name)) {}
  template <std::integral T>
  Padding(T each) : Padding(each, each, each, each) {}
  Padding(std::int64_t height, std::int64_t width)
      : Padding(height, height, width, width) {}
  Padding(std::int64_t top, std::int64_t bottom, std::int64_t left,
          std::int64_t right)
      : amounts{top, bottom, left, right} {}
  friend bool operator==(const Padding&, const Padding&) = default;
};

// Fields that a type does not have stay as they are; which there are and what
// they start with stands beside each type in src/train/layers.
struct Layer {
  std::string type;
  std::string name;                 // default: type_1, type_2, ...
  std::vector<std::string> inputs;  // layers above; none: the one before it
  std::int64_t units = 0;
  std::string activation;
  bool use_bias = true;
  std::string kernel_initializer = "glorot_uniform";
  std::string bias_initializer = "zeros";
  std::int64_t filters = 0;  // convolutions
  Size2 kernel_size{1, 1};
  Size2 strides{1, 1};  // of pooling 0: as pool_size
  Size2 dilation_rate{1, 1};
  Padding padding = "valid";
  std::int64_t depth_multiplier = 1;  // depthwise_conv2d
  Size2 pool_size{2, 2};
  Size2 size{2, 2};  // up_sampling2d: how many times as high and wide
  std::string interpolation = "nearest";
  std::int64_t axis = -1;                  // concatenate
  Size2 axes{-1, -1};                      // dot: of each of the two
  std::vector<std::int64_t> target_shape;  // reshape; one may be -1
  std::vector<std::int64_t> dims;          // permute: from 1, without the batch
  std::int64_t begin = 0;                  // slice: of the last axis
  std::int64_t end = 0;
  std::int64_t num_heads = 0;            // multi_head_attention
  std::int64_t key_dim = 0;              // of a head
  std::int64_t num_key_value_heads = 0;  // 0: as num_heads
  bool causal = false;
  std::string mask;  // a layer above: 0 where a query does not see a key
  bool return_sequences = false;     // lstm, gru
  bool unit_forget_bias = true;      // lstm: its forget gate starts at 1
  std::int64_t sequence_length = 0;  // position_embedding: rows of its table
  std::string shared_with;           // dense: the embedding whose table it uses
  std::int64_t input_dim = 0;        // embedding
  std::int64_t output_dim = 0;       // embedding
  std::string embeddings_initializer = "random_uniform";
  double rate = 0;
  double negative_slope = 0.2;
  double epsilon = 1e-3;     // normalization
  bool scale = true;         // likewise: by gamma
  bool center = true;        // and by beta; rms has none
  std::int64_t groups = 32;  // of channels
  double momentum = 0.99;    // of a batch's moving statistics
  bool unbiased = false;     // the moving variance is by n - 1, as PyTorch's
  std::string device;     // where it is placed; empty: on the session's device
  std::string precision;  // f32, bf16, ...; empty: the model's

  // The layer in a model with branches. Each call is a layer of its own, with
  // weights of its own.
  LayerOutput operator()(const LayerOutput& x) const;
  LayerOutput operator()(const std::vector<LayerOutput>& read) const;
  // multi_head_attention: where the mask [B, keys] or [B, queries, keys] is 0,
  // a query does not see a key.
  LayerOutput operator()(const std::vector<LayerOutput>& read,
                         const LayerOutput& masked_by) const;
  Layer named(std::string called) const;
};

// What a layer gives, or the model's input: the edges of a Model.
class LayerOutput {
 public:
  struct Node;
  explicit LayerOutput(std::shared_ptr<const Node> node)
      : node_(std::move(node)) {}
  const std::shared_ptr<const Node>& node() const { return node_; }

 private:
  std::shared_ptr<const Node> node_;
};

// The shape of one example.
LayerOutput Input(std::vector<std::int64_t> shape);

Layer Dense(std::int64_t units, ActivationFunction activation = linear);
// The product with the table of the embedding of that name, turned around: a
// language model's last layer. It has no bias.
Layer TiedDense(std::int64_t units, std::string embedding);
Layer Activation(ActivationFunction activation);
Layer Dropout(double rate);
// Rows of a table of input_dim by class index. An index outside of the table
// is an error of the data where the model's input is read as it is, else NaN.
Layer Embedding(std::int64_t input_dim, std::int64_t output_dim);
// Adds the first rows of a table of sequence_length to x [B, S, D].
Layer PositionEmbedding(std::int64_t sequence_length);
Layer LayerNormalization(double epsilon = 1e-3);
Layer RMSNormalization(double epsilon = 1e-6);
Layer GroupNormalization(std::int64_t groups = 32, double epsilon = 1e-3);
Layer BatchNormalization(double momentum = 0.99, double epsilon = 1e-3);

// Images are [B, H, W, C]; kernels are kept as [filters, KH, KW, C / groups].
struct ConvOptions {
  Size2 strides{1, 1};
  Padding padding = "valid";
  Size2 dilation_rate{1, 1};
  std::int64_t groups = 1;
  bool use_bias = true;
  ActivationFunction activation = linear;
};
Layer Conv2D(std::int64_t filters, Size2 kernel_size,
             const ConvOptions& options = {});
// Each channel by kernels of its own; `groups` is not looked at.
Layer DepthwiseConv2D(Size2 kernel_size, const ConvOptions& options = {},
                      std::int64_t depth_multiplier = 1);
// Without groups.
Layer Conv2DTranspose(std::int64_t filters, Size2 kernel_size,
                      const ConvOptions& options = {});

struct PoolOptions {
  Size2 pool_size{2, 2};
  Size2 strides{0, 0};  // 0: as pool_size
  Padding padding = "valid";
};
Layer MaxPooling2D(const PoolOptions& options = {});
Layer AveragePooling2D(const PoolOptions& options = {});
Layer GlobalMaxPooling2D();
Layer GlobalAveragePooling2D();
Layer ZeroPadding2D(const Padding& padding = 1);
Layer UpSampling2D(Size2 size = {2, 2},
                   const std::string& interpolation = "nearest");

Layer Flatten();
Layer Reshape(std::vector<std::int64_t> target_shape);
Layer Permute(std::vector<std::int64_t> dims);
// Columns of the last axis, up to and not including `end`.
Layer Slice(std::int64_t begin, std::int64_t end);

// Of two inputs or more; subtract and dot of two.
Layer Add();
Layer Subtract();
Layer Multiply();
Layer Average();
Layer Maximum();
Layer Minimum();
Layer Concatenate(std::int64_t axis = -1);
Layer Dot(Size2 axes = {-1, -1});

struct AttentionOptions {
  bool causal = false;
  bool use_bias = true;
  std::int64_t num_key_value_heads = 0;  // 0: as num_heads
};
// Of x [B, S, D] with itself, or of queries with values (and keys).
Layer MultiHeadAttention(std::int64_t num_heads, std::int64_t key_dim,
                         const AttentionOptions& options = {});

// Of x [B, steps, features]: the states of all steps, or of the last one.
Layer LSTM(std::int64_t units, bool return_sequences = false);
Layer GRU(std::int64_t units, bool return_sequences = false);

}  // namespace plimsoll
