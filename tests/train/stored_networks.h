// The networks of examples/models beside PyTorch: loss and all gradients from
// stored start values, against stored results (networks/README.md).
#pragma once

#include <string>

namespace plimsoll::train::testing {

inline constexpr const char* kNetworks[] = {
    "conv28", "resnet50",  "mobilenet_v2",    "vgg16",    "unet",
    "gpt2",   "bert_base", "lstm_forecaster", "two_tower"};
inline constexpr double kF32Limit = 1e-5;  // relative L2 error of a tensor
inline constexpr double kBf16Limit = 2e-2;

void expect_pytorchs(const std::string& name, const std::string& device,
                     const char* precision, double limit);

}  // namespace plimsoll::train::testing
