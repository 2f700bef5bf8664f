// What a device can run, seen from the graph: candidates with their price.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/layout.h"

namespace plimsoll::graph {

struct KernelQuery {
  const OpDef* op = nullptr;
  std::span<const TensorType> inputs;   // fixed shapes
  std::span<const TensorType> outputs;  // fixed shapes
  const Attrs* attrs = nullptr;         // fixed shapes
};

struct KernelCandidate {
  // Algorithm and everything that decides rounding (library implementation,
  // reduction split): one line of the numerics key.
  std::string name;
  std::int64_t scratch_bytes = 0;  // planned, passed to the launch
  std::int64_t private_bytes = 0;  // the kernel object's own: `runtime`
  double seconds = 0;              // estimate of one launch
  // What it reads and writes packed; lowering adds the instructions that pack
  // and unpack. Empty: all row-major; else one an input or output.
  std::vector<Layout> input_layouts = {};
  std::vector<Layout> output_layouts = {};
};

class KernelCatalog {
 public:
  virtual ~KernelCatalog() = default;
  // Cheapest first. No kernel: an error naming op, dtype and device.
  virtual Result<std::vector<KernelCandidate>> candidates(
      const KernelQuery& query) const = 0;
};

// What can run at each place, and how fast values get from one to the other.
struct PlaceCatalogs {
  // NOLINTNEXTLINE(google-explicit-constructor): most jobs have one place
  PlaceCatalogs(const KernelCatalog& home_catalog) : home(home_catalog) {}

  const KernelCatalog& home;
  const KernelCatalog* host = nullptr;  // beside a device
  double to_host_bytes_per_second = 0;
  double from_host_bytes_per_second = 0;
};

}  // namespace plimsoll::graph
