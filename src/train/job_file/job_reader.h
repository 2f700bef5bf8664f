// Takes typed values out of a JobValue and keeps the first complaint, which
// names file, line and key. After one, reads give defaults and do no harm.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "train/job_file/job_names.h"
#include "train/job_file/job_value.h"

namespace plimsoll::train {

class JobErrors {
 public:
  explicit JobErrors(std::string file) : file_(std::move(file)) {}

  // Only the first is kept.
  void add(const JobValue& at, const std::string& path, std::string_view why);
  // One that names its place itself.
  void add(Error error);
  bool any() const { return first_.has_value(); }
  const Error& first() const { return *first_; }
  // "mlp.toml:4: model.layers[1]", or the override instead of file and line.
  std::string place(const JobValue& at, const std::string& path) const;

 private:
  std::string file_;
  std::optional<Error> first_;
};

// One table of the job file.
class TableReader {
 public:
  // `what` names the table in complaints: "a dense layer".
  TableReader(JobErrors& errors, const JobValue& table, std::string path,
              std::string what);

  // Complains about the first key that is not in `known`.
  void allow(Names known);

  bool has(std::string_view key) const;
  const JobValue* find(std::string_view key) const { return table_->find(key); }
  void require(std::string_view key, std::string_view right);

  void read(std::string_view key, IntegerRange range, std::int64_t& out);
  void read(std::string_view key, RealRange range, double& out);
  void read(std::string_view key, bool& out);
  void read(std::string_view key, std::string& out);
  void read(std::string_view key, std::optional<std::string>& out);
  // One of `names`; `what` says of what: "loss".
  void read_name(std::string_view key, Names names, std::string_view what,
                 std::string& out);
  void read_names(std::string_view key, Names names, std::string_view what,
                  std::vector<std::string>& out);
  // One string or an array of them, none of them empty.
  void read_texts(std::string_view key, std::vector<std::string>& out);
  // An array of extents, each at least 1, of less than 2^40 elements.
  void read_shape(std::string_view key, std::vector<std::int64_t>& out);

  // The value at `key` when it is of this kind; a complaint when it is not.
  const JobValue* table(std::string_view key);
  const JobValue* array(std::string_view key);

  std::string path_of(std::string_view key) const;
  // At the key's own place if it is there, else at the table's.
  void complain(std::string_view key, std::string_view why);
  std::string place() const { return errors_->place(*table_, path_); }
  JobErrors& errors() { return *errors_; }

 private:
  const JobValue* expect(std::string_view key, JobValue::Kind kind,
                         std::string_view right);
  bool is_name(const JobValue& value, const std::string& path, Names names,
               std::string_view what);

  JobErrors* errors_;
  const JobValue* table_;
  std::string path_;
  std::string what_;
};

}  // namespace plimsoll::train
