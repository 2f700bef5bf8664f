#include "ops/einsum/equation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

namespace plimsoll::ops {
namespace {

constexpr std::string_view kDots = "...";

Error wrong(std::string what) {
  return {ErrorCode::bad_input, std::move(what)};
}

bool has(std::string_view labels, char label) {
  return labels.find(label) != std::string_view::npos;
}

// Letters and at most one ellipsis.
Status check_part(std::string_view part, std::string_view of) {
  bool dots = false;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part.substr(i, 3) == kDots && !dots) {
      dots = true;
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(part[i])) == 0) {
      return wrong(fmt::format("`{}` in {} is no letter", part[i], of));
    }
  }
  return {};
}

// The part with `count` labels in place of its ellipsis.
std::string with_dots(std::string_view part, std::size_t count) {
  std::string labels(part);
  const std::size_t at = labels.find(kDots);
  if (at == std::string::npos) return labels;
  std::string dots;
  for (std::size_t i = count; i-- > 0;) {
    dots += static_cast<char>('0' + static_cast<int>(i));
  }
  return labels.replace(at, kDots.size(), dots);
}

// How many axes the ellipsis stands for.
Result<std::size_t> dots_of(std::string_view part, int rank,
                            std::string_view of) {
  const bool dots = part.find(kDots) != std::string_view::npos;
  const int letters = static_cast<int>(part.size()) -
                      (dots ? static_cast<int>(kDots.size()) : 0);
  if (dots ? letters > rank : letters != rank) {
    return wrong(fmt::format("{} has {} axes, but `{}` names {}", of, rank,
                             part, letters));
  }
  // One character each.
  if (rank - letters > 10) {
    return wrong(fmt::format("`...` stands for {} axes, but 10 at most",
                             rank - letters));
  }
  return static_cast<std::size_t>(rank - letters);
}

// Ellipsis first, then the letters that occur once, in order.
std::string implied_result(std::string_view a, std::string_view b) {
  std::string result;
  if (a.find(kDots) != std::string_view::npos ||
      b.find(kDots) != std::string_view::npos) {
    result = kDots;
  }
  std::string once;
  const std::string both = std::string(a) + std::string(b);
  for (const char label : both) {
    if (label != '.' && both.find(label) == both.rfind(label)) once += label;
  }
  std::sort(once.begin(), once.end());
  return result + once;
}

}  // namespace

Result<EinsumEquation> parse_einsum(std::string_view text, int rank_of_a,
                                    int rank_of_b) {
  std::string plain(text);
  std::erase_if(plain, [](unsigned char c) { return std::isspace(c) != 0; });
  const std::size_t arrow = plain.find("->");
  const std::string operands = plain.substr(0, arrow);
  const std::size_t comma = operands.find(',');
  if (comma == std::string::npos || has(operands.substr(comma + 1), ',')) {
    return wrong("it takes two operands, as in \"ij,jk->ik\"");
  }
  EinsumEquation parts{
      operands.substr(0, comma), operands.substr(comma + 1), {}};
  PLIMSOLL_RETURN_IF_ERROR(check_part(parts.a, "the first operand"));
  PLIMSOLL_RETURN_IF_ERROR(check_part(parts.b, "the second operand"));
  parts.result = arrow == std::string::npos ? implied_result(parts.a, parts.b)
                                            : plain.substr(arrow + 2);
  PLIMSOLL_RETURN_IF_ERROR(check_part(parts.result, "the result"));
  PLIMSOLL_ASSIGN(const std::size_t dots_a,
                  dots_of(parts.a, rank_of_a, "the first operand"));
  PLIMSOLL_ASSIGN(const std::size_t dots_b,
                  dots_of(parts.b, rank_of_b, "the second operand"));
  const std::size_t dots = std::max(dots_a, dots_b);
  if (dots > 0 && parts.result.find(kDots) == std::string::npos) {
    return wrong("the result has no `...` for the axes that it stands for");
  }
  const EinsumEquation made{with_dots(parts.a, dots_a),
                            with_dots(parts.b, dots_b),
                            with_dots(parts.result, dots)};
  for (const char label : made.result) {
    if (made.result.find(label) != made.result.rfind(label)) {
      return wrong(fmt::format("the result has `{}` twice", label));
    }
    if (!has(made.a, label) && !has(made.b, label)) {
      return wrong(
          fmt::format("the result's `{}` is in neither operand", label));
    }
  }
  return made;
}

}  // namespace plimsoll::ops
