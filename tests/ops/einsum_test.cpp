// Einsum and its gradients against plain loops over all letters.
#include "ops/einsum/einsum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "base/philox.h"
#include "graph/autodiff.h"
#include "ops/run_op.h"
#include "ops/standard_ops.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::ValueId;
using Values = std::vector<double>;

// Letters without an ellipsis, as the loops need them; '1' is an axis of
// extent 1, which the loops do not move along.
struct Equation {
  std::string text;
  std::string a, b, result;
};

const std::map<char, std::int64_t> kExtents = {
    {'a', 2}, {'b', 3}, {'c', 4}, {'d', 5}, {'e', 1}, {'i', 3},
    {'j', 4}, {'k', 5}, {'h', 2}, {'q', 6}, {'z', 0}};

Shape shape_of(const std::string& labels) {
  std::vector<Dim> dims;
  for (const char label : labels) {
    dims.emplace_back(label == '1' ? 1 : kExtents.at(label));
  }
  return Shape(std::move(dims));
}

Values random_values(const Shape& shape, std::uint64_t stream) {
  Values values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const auto words = philox(5, stream, static_cast<std::uint64_t>(i));
    values.push_back(2 * uniform_double(words[0], words[1]) - 1);
  }
  return values;
}

// Calls visit(where in a, where in b, where in the result) for every number
// that the letters can have.
void for_letters(
    const Equation& equation,
    const std::function<void(std::size_t, std::size_t, std::size_t)>& visit) {
  std::map<char, std::int64_t> at;
  for (const char label : equation.a + equation.b) {
    if (label == '1') continue;
    if (kExtents.at(label) == 0) return;
    at[label] = 0;
  }
  const auto place = [&](const std::string& labels) {
    std::int64_t offset = 0;
    for (const char label : labels) {
      if (label == '1') continue;
      offset = offset * kExtents.at(label) + at[label];
    }
    return static_cast<std::size_t>(offset);
  };
  while (true) {
    visit(place(equation.a), place(equation.b), place(equation.result));
    auto digit = at.begin();
    while (digit != at.end() && ++digit->second == kExtents.at(digit->first)) {
      digit->second = 0;
      ++digit;
    }
    if (digit == at.end()) return;
  }
}

void expect_near(const Values& got, const Values& want,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], 1e-12) << what << ", index " << i;
  }
}

// Result and gradients of sum(einsum * weights).
void check(const Equation& equation) {
  const Shape shapes[] = {shape_of(equation.a), shape_of(equation.b),
                          shape_of(equation.result)};
  const Values a = random_values(shapes[0], 1);
  const Values b = random_values(shapes[1], 2);
  const Values weights = random_values(shapes[2], 3);
  Values result(weights.size()), da(a.size()), db(b.size());
  for_letters(equation, [&](std::size_t x, std::size_t y, std::size_t z) {
    result[z] += a[x] * b[y];
    da[x] += weights[z] * b[y];
    db[y] += weights[z] * a[x];
  });

  Builder builder;
  const ValueId in_a = builder.input("a", {DType::f64, shapes[0]});
  const ValueId in_b = builder.input("b", {DType::f64, shapes[1]});
  const ValueId made = einsum(builder, equation.text, in_a, in_b);
  ASSERT_TRUE(builder.ok()) << builder.status().error().message;
  ASSERT_EQ(builder.type(made).shape, shapes[2]) << equation.text;
  const ValueId flow = builder.input("w", builder.type(made));
  const auto gradients = graph::add_gradients(
      builder, made, flow, std::vector{in_a, in_b}, standard_ops());
  ASSERT_TRUE(gradients) << equation.text << gradients.error().message;
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph) << graph.error().message;
  ComputeThreads threads(1);
  const auto values = run_graph(
      *graph, 1,
      {tensor_of(DType::f64, shapes[0], a), tensor_of(DType::f64, shapes[1], b),
       tensor_of(DType::f64, shapes[2], weights)},
      threads);
  ASSERT_TRUE(values) << values.error().message;
  expect_near((*values)[made.pos()].values, result, equation.text);
  expect_near((*values)[(*gradients)[0].pos()].values, da,
              equation.text + ", of a");
  expect_near((*values)[(*gradients)[1].pos()].values, db,
              equation.text + ", of b");
}

Equation plain(const std::string& text) {
  const std::size_t comma = text.find(',');
  const std::size_t arrow = text.find("->");
  return {text, text.substr(0, comma),
          text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
}

TEST(Einsum, AgreesWithLoops) {
  for (const char* text :
       {"ij,jk->ik",        // a product of matrices
        "ij,jk->ki",        // and transposed
        "ij,kj->ik",        //
        "ji,jk->ik",        //
        "ji,kj->ik",        //
        "ij,j->i",          // of a matrix and a vector
        "j,ij->i",          //
        "i,i->",            // a dot product
        "i,j->ij",          // an outer one
        "i,j->ji",          //
        "i,j->",            // sums of both
        "ij,ij->ij",        // elements
        "ij,ji->ij",        //
        "ij,j->ij",         // rows scaled
        "ij,i->ji",         //
        "ij,ij->",          //
        "ij,ij->i",         //
        "aij,ajk->aik",     // batches
        "aij,ajk->aki",     //
        "aij,akj->aik",     //
        "iaj,akj->aik",     // the batch in the middle
        "iaj,jka->kai",     //
        "bqhd,bkhd->bhqk",  // attention
        "bhqk,bkhd->bqhd",  //
        "abc,cd->abd",      // a dense layer
        "abc,cdi->abdi",    //
        "abc,cbd->ad",      // two letters summed, in another order
        "abcd,dcb->a",      //
        "ab,cd->acbd",      // axes of both in turn
        "abj,cj->acb",      //
        "abk,j->ab",        // letters of one operand alone
        "akb,bcj->ca",      //
        "ae,eb->ab",        // axes of one
        "ea,eb->abe",       //
        ",ij->ij",          // scalars
        ",->"}) {
    check(plain(text));
  }
}

TEST(Einsum, AnEllipsisIsTheOtherAxes) {
  check({"...ij,...jk->...ik", "abij", "abjk", "abik"});
  check({"...ij, jk -> ...ik", "abij", "jk", "abik"});
  check({"i...,...->i...", "iab", "ab", "iab"});
  check({"...i,j...->...ij", "abi", "jb", "abij"});
  check({"...i,i->...", "i", "i", ""});
  check({"...ij,...jk", "aij", "ajk", "aik"});
}

TEST(Einsum, WithoutAResultItIsImplied) {
  check({"ij,jk", "ij", "jk", "ik"});
  check({"ba,ac", "ba", "ac", "bc"});
  check({"kj,ji", "kj", "ji", "ik"});
  check({"ij,ij", "ij", "ij", ""});
}

TEST(Einsum, ALetterTwiceIsADiagonal) {
  for (const char* text : {"ii,i->i",       // rows scaled by it
                           "ii,j->ij",      //
                           "ii,j->j",       // a trace
                           "ii,ii->i",      // of both
                           "ii,ii->",       //
                           "i,ii->",        //
                           "iji,jk->ik",    // axes apart
                           "aiib,bk->kai",  // and between others
                           "iii,i->i",      // of three
                           "ijij,i->ij",    // two at once
                           "jiij,ijk->k",   //
                           "ee,eb->eb",     // of one element
                           "zz,zk->zk",     // and of none
                           "zz,k->k"}) {    //
    check(plain(text));
  }
  check({"...ii,ij->...j", "abii", "ij", "abj"});
  check({"i...i,i", "iai", "i", "a"});
  // Implied: a letter that is there twice is summed.
  check({"ii,j", "ii", "j", "j"});
  check({"jii,k", "jii", "k", "jk"});
}

TEST(Einsum, AnAxisOfOneServesForAll) {
  check({"ij,ij->ij", "1j", "ij", "ij"});
  check({"ij,ij->ij", "i1", "1j", "ij"});
  check({"ij,ij->j", "1j", "ij", "j"});
  check({"ij,ij->", "ij", "11", ""});
  check({"ij,jk->ik", "i1", "jk", "ik"});
  check({"ij,jk->ki", "ij", "1k", "ki"});
  check({"aij,ajk->aik", "1ij", "ajk", "aik"});
  check({"...i,...i->...", "a1i", "bi", "ab"});
  check({"...ij,...jk->...ik", "a1ij", "bjk", "abik"});
  check({"...,...", "a1", "1b", "ab"});
  check({"ii,i->i", "11", "i", "i"});
  check({"ij,ij->ij", "1j", "zj", "zj"});
}

TEST(Einsum, EmptyAxesSumToZero) {
  check(plain("iz,zk->ik"));
  check(plain("iz,iz->i"));
  check(plain("zi,ik->zk"));
}

// The ops that einsum builds, by name.
std::map<std::string, int> ops_of(const std::string& text, const Shape& a,
                                  const Shape& b) {
  Builder builder;
  const ValueId in_a = builder.input("a", {DType::f32, a});
  const ValueId in_b = builder.input("b", {DType::f32, b});
  einsum(builder, text, in_a, in_b);
  EXPECT_TRUE(builder.ok()) << builder.status().error().message;
  std::map<std::string, int> ops;
  for (const graph::Node& node : builder.graph().nodes) {
    ++ops[std::string(node.op->name)];
  }
  return ops;
}

TEST(Einsum, MovesNothingWithoutNeed) {
  using Ops = std::map<std::string, int>;
  const Dim batch = Dim::batch();
  const Ops product = {{"matmul", 1}};
  EXPECT_EQ(ops_of("bi,oi->bo", {batch, 8}, {5, 8}), product);
  EXPECT_EQ(ops_of("bi,oi->ob", {batch, 8}, {5, 8}), product);
  EXPECT_EQ(ops_of("bi,bo->io", {batch, 8}, {batch, 5}), product);
  EXPECT_EQ(ops_of("bij,bkj->bik", {batch, 4, 8}, {batch, 5, 8}), product);
  EXPECT_EQ(ops_of("bji,bjk->bki", {batch, 8, 4}, {batch, 8, 5}), product);
  EXPECT_EQ(ops_of("bi,bi->bi", {batch, 8}, {batch, 8}),
            (Ops{{"multiply", 1}}));
  EXPECT_EQ(ops_of("bsd,dnh->bsnh", {batch, 6, 8}, {8, 2, 4}),
            (Ops{{"matmul", 1}, {"reshape", 3}}));
  // A diagonal is a step through rows; the batch meets an axis of 1.
  EXPECT_EQ(ops_of("bii,bi->bi", {batch, 4, 4}, {1, 4}),
            (Ops{{"multiply", 1}, {"reshape", 3}, {"slice", 1}}));
  // Only the smaller operand moves.
  EXPECT_EQ(ops_of("bsd,ndh->bsnh", {batch, 60, 8}, {2, 8, 4}),
            (Ops{{"matmul", 1}, {"reshape", 3}, {"transpose", 1}}));
  EXPECT_EQ(ops_of("bqhd,bkhd->bhqk", {batch, 6, 2, 8}, {batch, 7, 2, 8}),
            (Ops{{"matmul", 1}, {"reshape", 3}, {"transpose", 2}}));
}

TEST(Einsum, MistakesAreNamed) {
  const auto refusal = [](const std::string& text, Shape a, Shape b,
                          DType of_b = DType::f32) {
    Builder builder;
    const ValueId in_a = builder.input("a", {DType::f32, std::move(a)});
    const ValueId in_b = builder.input("b", {of_b, std::move(b)});
    einsum(builder, text, in_a, in_b);
    return builder.ok() ? std::string() : builder.status().error().message;
  };
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(refusal("ij,jk->il", {2, 3}, {3, 4}), "`l` is in neither operand");
  expect(refusal("ij,jk->il", {2, 3}, {3, 4}),
         "einsum \"ij,jk->il\" of f32[2, 3], f32[3, 4]");
  expect(refusal("ii,ik->ik", {2, 3}, {2, 4}),
         "`i` is [2, 3] in the first operand: a diagonal is of axes of one");
  expect(refusal("ik,ii->ik", {2, 4}, {1, 2}), "[1, 2] in the second operand");
  expect(refusal("bb,b->b", {Dim::batch(), Dim::batch()}, {Dim::batch()}),
         "`b` is [B, B] in the first operand: there is no diagonal of the "
         "batch");
  expect(refusal("ij,ij->ij", {1, 3}, {2, 4}), "`j` is [3] in one operand");
  expect(refusal("ij,jk->iik", {2, 3}, {3, 4}), "the result has `i` twice");
  expect(refusal("ij,jk->ik", {2, 3}, {4, 4}),
         "`j` is [3] in one operand and [4] in the other");
  expect(refusal("ij,jk->ik", {Dim::batch(), 3}, {3}),
         "the second operand has 1 axes, but `jk` names 2");
  expect(refusal("ij->i", {2, 3}, {3, 4}), "two operands");
  expect(refusal("ij,jk,kl->il", {2, 3}, {3, 4}), "two operands");
  expect(refusal("i1,1k->ik", {2, 3}, {3, 4}), "`1` in the first operand");
  expect(refusal("...i,ij->j", {2, 3, 4}, {4, 5}), "the result has no `...`");
  expect(refusal("...i,...i->...", {2, 4}, {3, 4}), "`...` is [2]");
  expect(refusal("ij,jk->ik", {2, 3}, {3, 4}, DType::f64), "dtype");
  // An operand with two axes of the batch cannot be a matrix.
  expect(refusal("bc,bcd->d", {Dim::batch(), Dim::batch()},
                 {Dim::batch(), Dim::batch(), 4}),
         "two axes of the batch");
}

}  // namespace
}  // namespace plimsoll::ops::testing
