#include "train/job_file/job_names.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "data/recipe.h"
#include "train/objective.h"
#include "train/optimizer_keys.h"
#include "train/schedule.h"

namespace plimsoll::train {
namespace {

using std::string_view;

constexpr string_view kLabels[] = {"binary", "uniform", "classes"};
constexpr string_view kResidencies[] = {"stream", "memory"};
constexpr string_view kPrecisions[] = {"f32", "f64", "bf16", "f16"};

// Levenshtein's distance.
std::size_t edits(string_view a, string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::vector<string_view> names_of(std::span<const data::RecipeDef> defs) {
  std::vector<string_view> names;
  for (const data::RecipeDef& def : defs) names.push_back(def.name);
  return names;
}

}  // namespace

Names source_types() {
  static const std::vector<string_view> kSources =
      names_of(data::source_defs());
  return kSources;
}
Names label_types() { return kLabels; }
Names residencies() { return kResidencies; }
Names stages() {
  static const std::vector<string_view> kStages = names_of(data::stage_defs());
  return kStages;
}
Names optimizers() {
  static const std::vector<string_view> kOptimizers = [] {
    std::vector<string_view> names;
    for (const OptimizerDef& def : optimizer_defs()) names.push_back(def.type);
    return names;
  }();
  return kOptimizers;
}
Names schedules() {
  static const std::vector<string_view> kSchedules = [] {
    std::vector<string_view> names;
    for (const ScheduleDef& def : schedule_defs()) names.push_back(def.type);
    return names;
  }();
  return kSchedules;
}
Names losses() { return kLossNames; }
Names metrics() { return kMetricNames; }
Names precisions() { return kPrecisions; }

bool contains(Names names, string_view word) {
  return std::find(names.begin(), names.end(), word) != names.end();
}

string_view closest(Names names, string_view word) {
  if (word.size() > 64) return {};
  string_view best;
  // A third of the letters may be wrong: more is another word.
  std::size_t best_edits = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const string_view name : names) {
    const std::size_t count = edits(name, word);
    if (count < best_edits) {
      best = name;
      best_edits = count;
    }
  }
  return best;
}

std::string list_of(Names names, string_view last_word) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool last = i + 1 == names.size();
    if (i > 0 && last) {
      text.append(" ").append(last_word).append(" ");
    } else if (i > 0) {
      text.append(", ");
    }
    text.append("`").append(names[i]).append("`");
  }
  return text;
}

}  // namespace plimsoll::train
