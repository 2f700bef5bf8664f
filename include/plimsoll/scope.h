// Names for the memory of tensors:
//   { pl::Scope scope("encoder"); h = pl::relu(pl::matmul(x, w)); }
// What tensors of this thread take while it stands is held by "encoder" in
// Session::explain() and in errors; scopes inside of others are "outer/inner".
// Variables are held by their own names.
#pragma once

#include <memory>
#include <string>

namespace plimsoll {

namespace runtime {
struct OwnerScope;
}

// Goes on the thread that made it, inner ones first.
class Scope {
 public:
  explicit Scope(const std::string& name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  std::unique_ptr<runtime::OwnerScope> scope_;
};

}  // namespace plimsoll
