// Image files in folders, a folder for each class: the field `features` holds
// a file's bytes, `labels` the class, counted in the order of the names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/indexed.h"

namespace plimsoll::data {

class ImageFolder final : public Indexed {
 public:
  // JPEG and PNG files by their suffix, in the order of their names. Nothing
  // is read; files that change their size later are errors.
  static Result<std::unique_ptr<ImageFolder>> open(const std::string& folder);

  std::string name() const override { return "images"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t size() const override {
    return static_cast<std::int64_t>(files_.size());
  }
  Status read(std::int64_t number, Element& out,
              std::span<std::byte* const> buffers,
              const ReadContext& context) const override;
  // Files differ in size: always an error.
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext& context) const override;
  std::string whereabouts(std::int64_t number) const override;
  std::string describe() const override;

  const std::vector<std::string>& classes() const { return classes_; }
  std::int64_t held_bytes() const override;

 private:
  struct File {
    std::int64_t name = 0;  // where it begins in names_
    std::int32_t label = 0;
    std::int32_t bytes = 0;
  };
  explicit ImageFolder(std::string folder) : folder_(std::move(folder)) {}
  Status list_class(const std::string& name);
  std::string path_of(std::int64_t number) const;

  std::string folder_;
  std::vector<std::string> classes_;
  std::string names_;  // all, one after another, each ended by a zero
  std::vector<File> files_;
  ElementSpec spec_;
};

}  // namespace plimsoll::data
