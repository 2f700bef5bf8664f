// Every source and stage with its options.
#include "data/recipe.h"

namespace plimsoll::data {
namespace {

using Kind = OptionKind;

constexpr RecipeDef map_stage(std::string_view name,
                              std::span<const OptionDef> options,
                              bool chance = false) {
  return {name, options, chance, true, false};
}
constexpr RecipeDef joint(std::string_view name,
                          std::span<const OptionDef> options) {
  return {name, options, false, false, true};
}

constexpr double kMostCount = 1e18;
constexpr OptionDef kField{
    "field", Kind::text, false, "`field`, the name of one", -9e18, 9e18, {}};

constexpr OptionDef option(std::string_view key, Kind kind, bool required,
                           std::string_view meaning) {
  return {key, kind, required, meaning, -9e18, 9e18, {}};
}
constexpr OptionDef whole(std::string_view key, bool required, double least,
                          double most, std::string_view meaning) {
  return {key, Kind::integer, required, meaning, least, most, {}};
}
constexpr OptionDef choice(std::string_view key, std::string_view choices) {
  return {key, Kind::text, false, key, -9e18, 9e18, choices};
}

// Sources. In job files the labels of `random` are a table of their own.
constexpr OptionDef kRandom[] = {
    whole("examples", true, 1, 281474976710656.0, "`examples`, how many"),
    option("features", Kind::integers, true,
           "`features`, the shape of one, as in [1000]"),
    choice("labels", "binary uniform classes"),
    option("label_shape", Kind::integers, false, "`label_shape`, if uniform"),
    whole("label_count", false, 2, 2147483647, "`label_count`, of classes"),
    whole("classes", false, 1, 2147483647,
          "`classes`, below which the features are whole numbers")};
constexpr OptionDef kNpy[] = {
    option("features", Kind::path, true, "`features`, the name of an npy file"),
    option("labels", Kind::path, true, "`labels`, the name of an npy file"),
    choice("page_cache", "auto keep drop")};
constexpr OptionDef kNpz[] = {
    option("path", Kind::path, true, "`path`, of the npz file"),
    option("features", Kind::text, true, "`features`, the name of an array"),
    option("labels", Kind::text, true, "`labels`, the name of an array")};
constexpr OptionDef kRange[] = {
    whole("first", false, -kMostCount, kMostCount, "`first`"),
    whole("end", true, -kMostCount, kMostCount, "`end`, not included"),
    whole("step", false, -kMostCount, kMostCount, "`step`")};
constexpr OptionDef kImages[] = {
    option("folder", Kind::path, true,
           "`folder`, with a folder of images for each class")};

constexpr OptionDef kFiles =
    option("files", Kind::paths, true, "`files`, names or patterns");
constexpr OptionDef kShuffleFiles =
    option("shuffle_files", Kind::flag, false, "`shuffle_files`");
constexpr OptionDef kMostBytes =
    option("most_bytes", Kind::size, false, "`most_bytes`, of one element");
constexpr OptionDef kCsv[] = {
    kFiles,
    kShuffleFiles,
    option("label", Kind::text, true, "`label`, the name of a column"),
    choice("label_type", "i32 i64 f32 f64"),
    option("features", Kind::texts, false, "`features`, names of columns"),
    option("delimiter", Kind::text, false, "`delimiter`, one character"),
    choice("header", "detect yes no"),
    option("missing", Kind::text, false, "`missing`, for empty numbers"),
    kMostBytes};
constexpr OptionDef kTfRecord[] = {
    kFiles,
    kShuffleFiles,
    option("features", Kind::text, true, "`features`, the name of one"),
    choice("features_type", "f32 i64 bytes"),
    option("features_shape", Kind::integers, false, "`features_shape`"),
    option("labels", Kind::text, true, "`labels`, the name of one"),
    choice("labels_type", "f32 i64 bytes"),
    option("labels_shape", Kind::integers, false, "`labels_shape`"),
    kMostBytes};
constexpr OptionDef kTar[] = {
    kFiles, kShuffleFiles,
    option("features", Kind::text, true, "`features`, an extension: \"jpg\""),
    option("labels", Kind::text, true, "`labels`, an extension: \"cls\""),
    kMostBytes};

constexpr OptionDef kLines[] = {kFiles, kShuffleFiles, kMostBytes};

constexpr OptionDef kInterleave[] = {
    whole("cycle", false, 1, 64, "`cycle`, sources read at a time"),
    whole("block", false, 1, 1e9, "`block`, elements of one before the next"),
    option("shuffle", Kind::flag, false, "`shuffle`, the sources' order")};

constexpr RecipeDef kSources[] = {{"random", kRandom},
                                  {"npy", kNpy},
                                  {"npz", kNpz},
                                  {"range", kRange},
                                  {"images", kImages},
                                  {"csv", kCsv},
                                  {"tfrecord", kTfRecord},
                                  {"webdataset", kTar},
                                  {"lines", kLines},
                                  joint("zip", {}),
                                  joint("concatenate", {}),
                                  joint("interleave", kInterleave)};

// Stages.
constexpr OptionDef kShuffle[] = {
    choice("mode", "auto exact blocks window"),
    option("window", Kind::size, false, "`window`, as in \"4MiB\""),
    whole("elements", false, 1, 1e9, "`elements`, in the window"),
    option("block", Kind::size, false, "`block`, as in \"256KiB\"")};
constexpr OptionDef kBatch[] = {
    option("remainder", Kind::flag, false, "`remainder`")};
constexpr OptionDef kPaddedBatch[] = {
    kField,
    option("shape", Kind::integers, true, "`shape`, of every element, padded"),
    option("value", Kind::number, false, "`value`, to pad with"),
    option("remainder", Kind::flag, false, "`remainder`")};
constexpr OptionDef kPrefetch[] = {
    option("autotune", Kind::flag, false, "`autotune`"),
    whole("batches", false, 0, 1024, "`batches`"),
    whole("readers", false, 1, 64, "`readers`, threads that make batches")};
constexpr OptionDef kCount[] = {
    whole("count", true, 1, kMostCount, "`count`, how many")};
constexpr OptionDef kSkip[] = {
    whole("count", true, 0, kMostCount, "`count`, how many")};
constexpr OptionDef kShard[] = {
    whole("index", true, 0, 1e9, "`index`, from 0"),
    whole("count", true, 1, 1e9, "`count`, of all shards")};
constexpr OptionDef kCache[] = {
    option("memory", Kind::size, true, "`memory`, as in \"64MiB\""),
    option("folder", Kind::path, false, "`folder`, for what is more")};
constexpr OptionDef kFilter[] = {
    kField, option("least", Kind::number, false, "`least`"),
    option("most", Kind::number, false, "`most`")};
constexpr OptionDef kCast[] = {
    kField, option("to", Kind::text, true, "`to`, a dtype such as \"f32\"")};
constexpr OptionDef kScale[] = {
    kField, option("factor", Kind::number, false, "`factor`"),
    option("offset", Kind::number, false, "`offset`")};
constexpr OptionDef kNormalise[] = {
    kField, option("mean", Kind::numbers, true, "`mean`, one or a list"),
    option("deviation", Kind::numbers, true, "`deviation`, one or a list")};
constexpr OptionDef kOneHot[] = {
    kField, whole("count", true, 1, 1e9, "`count`, of the classes")};
constexpr OptionDef kDecode[] = {
    kField,
    whole("channels", false, 0, 4, "`channels`: 1, 3, 4, or 0 as stored"),
    option("largest", Kind::integers, true,
           "`largest`, [height, width] of the largest image"),
    option("at_least", Kind::integers, false,
           "`at_least`, [height, width]: larger JPEGs are decoded smaller"),
    option("resize", Kind::integers, false,
           "`resize`, [height, width]: decoded straight to this size"),
    choice("dct", "exact fast"),
    option("progressive", Kind::flag, false, "`progressive`"),
    option("whole", Kind::flag, false, "`whole`, for PNG and CMYK")};
constexpr OptionDef kResize[] = {
    kField, whole("height", true, 1, 65536, "`height`, in pixels"),
    whole("width", true, 1, 65536, "`width`, in pixels"),
    choice("method", "bilinear nearest")};
constexpr OptionDef kCrop[] = {
    kField, whole("height", true, 1, 65536, "`height`, in pixels"),
    whole("width", true, 1, 65536, "`width`, in pixels"),
    option("at", Kind::integers, false, "`at`, [top, left]")};
constexpr OptionDef kRandomCrop[] = {
    kField, whole("height", true, 1, 65536, "`height`, in pixels"),
    whole("width", true, 1, 65536, "`width`, in pixels")};
constexpr OptionDef kFlip[] = {kField, choice("axis", "left_right up_down")};
constexpr OptionDef kRandomFlip[] = {
    kField,
    choice("axis", "left_right up_down"),
    {"probability", Kind::number, false, "`probability`", 0, 1, {}}};
constexpr OptionDef kParseNumber[] = {
    kField, option("to", Kind::text, false, "`to`, a dtype such as \"i32\"")};
constexpr OptionDef kRename[] = {
    option("field", Kind::text, true, "`field`, its name so far"),
    option("to", Kind::text, true, "`to`, its new name")};
constexpr OptionDef kReshape[] = {
    kField, option("shape", Kind::integers, true, "`shape`, as in [28, 28]")};

constexpr RecipeDef kStages[] = {
    {"shuffle", kShuffle, true},
    {"batch", kBatch},
    map_stage("padded_batch", kPaddedBatch),
    {"prefetch", kPrefetch},
    {"repeat", kCount, true},
    {"take", kCount},
    {"skip", kSkip},
    {"shard", kShard},
    {"cache", kCache},
    {"filter", kFilter},
    {"unbatch", {}},
    {"skip_errors", {}},
    map_stage("cast", kCast),
    map_stage("scale", kScale),
    map_stage("normalise", kNormalise),
    map_stage("one_hot", kOneHot),
    map_stage("decode_image", kDecode),
    map_stage("resize", kResize),
    map_stage("crop", kCrop),
    map_stage("random_crop", kRandomCrop),
    map_stage("flip", kFlip),
    map_stage("random_flip", kRandomFlip, true),
    map_stage("reshape", kReshape),
    map_stage("rename", kRename),
    map_stage("parse_number", kParseNumber),
};

}  // namespace

std::span<const RecipeDef> source_defs() { return kSources; }
std::span<const RecipeDef> stage_defs() { return kStages; }

}  // namespace plimsoll::data
