// Random networks with branches, every op, loss and optimiser: what promises
// about plans are tested on.
#pragma once

#include <cstdint>
#include <string>

#include "graph/graph.h"

namespace plimsoll::train::testing {

struct RandomNetwork {
  graph::Graph graph;  // a whole training step, optimised
  std::int64_t batch = 1;
  int forward_ops = 0;
  std::string description;
};

// `large`: made so that its arena passes 256 MiB.
RandomNetwork make_random_network(std::uint64_t seed, bool large);

}  // namespace plimsoll::train::testing
