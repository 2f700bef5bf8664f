#include "train/layer_summary.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "train/planned_job.h"

namespace plimsoll::train {
namespace {

using graph::Phase;

class Rows {
 public:
  Rows(const JobSpec& job, const PlannedJob& planned) {
    const auto names = layer_names(job.model);
    for (std::size_t i = 0; i < names.size(); ++i) {
      LayerRow row;
      row.name = names[i];
      row.type = job.model.layers[i].type;
      row.output = planned.graphs.layer_types[i].shape.to_string();
      rows_.push_back(std::move(row));
    }
    rows_.push_back({"loss and counters", "", "", 0, 0, 0});
  }

  // The layer whose name this begins with; names may hold slashes themselves.
  LayerRow& row_of(const std::string& name) {
    LayerRow* best = &rows_.back();
    std::size_t longest = 0;
    for (LayerRow& row : rows_) {
      if (row.type.empty() || row.name.size() < longest) continue;
      if (!name.starts_with(row.name) ||
          (name.size() > row.name.size() && name[row.name.size()] != '/')) {
        continue;
      }
      best = &row;
      longest = row.name.size();
    }
    return *best;
  }

  void add_states(const plan::JobNeeds& needs) {
    for (const plan::StateNeed& state : needs.states) {
      LayerRow& row = row_of(state.name);
      row.state_bytes += state.type.bytes();
      if (state.role == graph::Role::parameter) {
        row.parameters += state.type.shape.elements();
      }
    }
  }

  void add_kept(const graph::LoweredGraph& program) {
    std::vector<bool> written(program.buffers.size(), false);
    std::vector<bool> read(program.buffers.size(), false);
    for (const graph::Instruction& step : program.instructions) {
      if (step.phase == Phase::forward) continue;
      for (const graph::BufferId id : step.inputs) read[id.pos()] = true;
    }
    for (const graph::Instruction& step : program.instructions) {
      if (step.phase != Phase::forward) continue;
      for (const graph::BufferId id : step.outputs) {
        const graph::Buffer& buffer = program.buffer(id);
        if (buffer.kind != graph::BufferKind::transient || !read[id.pos()] ||
            written[id.pos()]) {
          continue;
        }
        written[id.pos()] = true;
        row_of(step.name).kept_bytes += buffer.bytes;
      }
    }
  }

  std::vector<LayerRow> take() { return std::move(rows_); }

 private:
  std::vector<LayerRow> rows_;
};

}  // namespace

std::vector<LayerRow> layer_rows(const JobSpec& job,
                                 const PlannedJob& planned) {
  const StagePrograms& programs = planned.programs_of(Stage::train);
  const int program = programs.full >= 0 ? programs.full : programs.tail;
  if (program < 0) return {};
  Rows rows(job, planned);
  rows.add_states(planned.needs);
  rows.add_kept(planned.programs[static_cast<std::size_t>(program)].lowered);
  return rows.take();
}

std::string layers_text(const std::vector<LayerRow>& rows) {
  std::size_t names = 5, types = 4, shapes = 6;
  LayerRow total;
  total.name = "total";
  for (const LayerRow& row : rows) {
    names = std::max(names, row.name.size());
    types = std::max(types, row.type.size());
    shapes = std::max(shapes, row.output.size());
    total.parameters += row.parameters;
    total.state_bytes += row.state_bytes;
    total.kept_bytes += row.kept_bytes;
  }
  const auto line = [&](const std::string& name, const std::string& type,
                        const std::string& output,
                        const std::string& parameters,
                        const std::string& states, const std::string& kept) {
    return fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>13}  {:>18}  {:>18}\n", name,
                       names, type, types, output, shapes, parameters, states,
                       kept);
  };
  const auto line_of = [&](const LayerRow& row) {
    std::string count = format_exact_bytes(row.parameters);
    count.resize(count.size() - 2);
    return line(row.name, row.type, row.output, count,
                format_exact_bytes(row.state_bytes),
                format_exact_bytes(row.kept_bytes));
  };
  std::string text = line("layer", "type", "output", "parameters",
                          "with its optimizer", "kept for backward");
  for (const LayerRow& row : rows) text += line_of(row);
  return text + line_of(total);
}

}  // namespace plimsoll::train
