#include "ops/elementwise/program.h"

#include <algorithm>

namespace plimsoll::ops {
namespace {

using graph::ElementwiseCode;
using graph::ElementwiseExpression;
using graph::ElementwiseInstruction;

// Every result is made by an instruction of its own: an input or a value that
// is two outputs at once is copied by one more identity.
ElementwiseExpression with_own_results(ElementwiseExpression expression) {
  std::vector<int> seen;
  for (int& result : expression.results) {
    const bool constant = result >= expression.inputs &&
                          expression
                                  .instructions[static_cast<std::size_t>(
                                      result - expression.inputs)]
                                  .code == ElementwiseCode::constant;
    const bool again =
        std::find(seen.begin(), seen.end(), result) != seen.end();
    if (result < expression.inputs || again || constant) {
      expression.instructions.push_back({ElementwiseCode::identity, result});
      result = expression.inputs +
               static_cast<int>(expression.instructions.size()) - 1;
    }
    seen.push_back(result);
  }
  return expression;
}

class Compiler {
 public:
  Compiler(const ElementwiseExpression& expression,
           const std::vector<bool>& in_slot, const std::vector<bool>& out_slot)
      : expression_(expression), in_slot_(in_slot), out_slot_(out_slot) {
    const auto operands = static_cast<std::size_t>(expression.inputs) +
                          expression.instructions.size();
    last_use_.assign(operands, -1);
    output_.assign(operands, -1);
    for (std::size_t i = 0; i < expression.instructions.size(); ++i) {
      for (const int operand : operands_of(expression.instructions[i])) {
        last_use_[static_cast<std::size_t>(operand)] = static_cast<int>(i);
        if (is_direct(operand)) last_input_read_ = static_cast<int>(i);
      }
    }
    for (std::size_t j = 0; j < expression.results.size(); ++j) {
      output_[static_cast<std::size_t>(expression.results[j])] =
          static_cast<int>(j);
    }
  }

  Program run(bool safe) {
    Program program;
    places_.assign(last_use_.size(), Place());
    stored_.assign(last_use_.size(), false);
    free_.clear();
    for (int i = 0; i < expression_.inputs; ++i) {
      const bool direct = is_direct(i);
      places_[static_cast<std::size_t>(i)] =
          direct ? Place{Place::Kind::input, i}
                 : Place{Place::Kind::slot, program.slots};
      program.input_slots.push_back(direct ? -1 : program.slots++);
    }
    for (std::size_t i = 0; i < expression_.instructions.size(); ++i) {
      if (expression_.instructions[i].code != ElementwiseCode::constant) {
        continue;
      }
      const Place slot{Place::Kind::slot, program.slots++};
      places_[operand_made_by(i)] = slot;
      program.once.push_back({ElementwiseCode::constant, slot,
                              expression_.instructions[i].scalar});
    }
    std::vector<Step> at_end;
    for (std::size_t i = 0; i < expression_.instructions.size(); ++i) {
      add_step(program, i, safe, at_end);
    }
    program.steps.insert(program.steps.end(), at_end.begin(), at_end.end());
    return program;
  }

  std::vector<Hazard> hazards() const {
    std::vector<Hazard> found;
    for (int input = 0; input < expression_.inputs; ++input) {
      if (!is_direct(input)) continue;
      for (std::size_t j = 0; j < expression_.results.size(); ++j) {
        const int written = expression_.results[j] - expression_.inputs;
        if (last_use_[static_cast<std::size_t>(input)] > written) {
          found.push_back({input, static_cast<int>(j)});
        }
      }
    }
    return found;
  }

 private:
  static std::vector<int> operands_of(const ElementwiseInstruction& step) {
    std::vector<int> operands{step.a, step.b, step.c};
    operands.resize(static_cast<std::size_t>(graph::arity_of(step.code)));
    return operands;
  }
  bool is_direct(int operand) const {
    return operand < expression_.inputs &&
           !in_slot_[static_cast<std::size_t>(operand)];
  }
  std::size_t operand_made_by(std::size_t instruction) const {
    return static_cast<std::size_t>(expression_.inputs) + instruction;
  }

  void add_step(Program& program, std::size_t i, bool safe,
                std::vector<Step>& at_end) {
    const ElementwiseInstruction& from = expression_.instructions[i];
    if (from.code == ElementwiseCode::constant) return;
    Step step{from.code, {}, from.scalar};
    const auto operands = operands_of(from);
    Place* const reads[] = {&step.a, &step.b, &step.c};
    for (std::size_t k = 0; k < operands.size(); ++k) {
      *reads[k] = places_[static_cast<std::size_t>(operands[k])];
    }
    // Operands read for the last time give their slots to the result.
    for (const int operand : operands) release(operand, static_cast<int>(i));
    const std::size_t made = operand_made_by(i);
    const int output = output_[made];
    const bool wait = safe && static_cast<int>(i) < last_input_read_;
    const bool stored =
        output >= 0 && out_slot_[static_cast<std::size_t>(output)];
    if (output >= 0 && !wait && !stored) {
      step.out = {Place::Kind::output, output};
    } else {
      step.out = {Place::Kind::slot, take(program)};
    }
    places_[made] = step.out;
    program.steps.push_back(step);
    if (step.out.kind == Place::Kind::output) return;
    if (output >= 0) {
      const Step store{ElementwiseCode::identity,
                       {Place::Kind::output, output},
                       0,
                       step.out};
      if (wait) {
        at_end.push_back(store);
        return;  // the slot keeps it until then
      }
      program.steps.push_back(store);
      stored_[made] = true;
    }
    if (last_use_[made] < 0) free_.push_back(step.out.index);
  }

  int take(Program& program) {
    if (free_.empty()) return program.slots++;
    const int slot = free_.back();
    free_.pop_back();
    return slot;
  }

  void release(int operand, int now) {
    const auto at = static_cast<std::size_t>(operand);
    // What has gone to its output already needs its slot no longer.
    const bool kept = output_[at] >= 0 &&
                      !(places_[at].kind == Place::Kind::slot && stored_[at]);
    const bool temporary =
        operand >= expression_.inputs && !kept &&
        expression_
                .instructions[at - static_cast<std::size_t>(expression_.inputs)]
                .code != ElementwiseCode::constant;
    const int slot = places_[at].index;
    if (temporary && last_use_[at] == now &&
        std::find(free_.begin(), free_.end(), slot) == free_.end()) {
      free_.push_back(slot);
    }
  }

  const ElementwiseExpression& expression_;
  const std::vector<bool>& in_slot_;
  const std::vector<bool>& out_slot_;
  std::vector<bool> stored_;   // by operand: its slot has gone to the output
  std::vector<int> last_use_;  // by operand: the instruction, -1 for none
  std::vector<int> output_;    // by operand: the output it becomes, or -1
  int last_input_read_ = -1;   // the last instruction that reads in place
  std::vector<Place> places_;
  std::vector<int> free_;
};

}  // namespace

CompiledExpression compile(const ElementwiseExpression& expression,
                           const std::vector<bool>& in_slot,
                           const std::vector<bool>& out_slot) {
  const ElementwiseExpression own = with_own_results(expression);
  Compiler compiler(own, in_slot, out_slot);
  CompiledExpression compiled;
  compiled.direct = compiler.run(false);
  compiled.hazards = compiler.hazards();
  compiled.safe =
      compiled.hazards.empty() ? compiled.direct : compiler.run(true);
  return compiled;
}

}  // namespace plimsoll::ops
