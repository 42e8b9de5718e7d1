#include "runner/launch/slurm.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

std::string names(std::string_view list) {
  return join(parse_nodelist(list, "LIST"), " ");
}

TEST_CASE("lists of nodes are those of SLURM") {
  CHECK(names("login") == "login");
  CHECK(names("n1,n2") == "n1 n2");
  CHECK(names("n[1-3]") == "n1 n2 n3");
  CHECK(names("n[08-11,20],x,gpu[7]") == "n08 n09 n10 n11 n20 x gpu7");
  CHECK(names("r[1-2]n[0-1]-ib") == "r1n0-ib r1n1-ib r2n0-ib r2n1-ib");
  CHECK(names("n[00-00]") == "n00");
  CHECK(parse_nodelist("n[1-65536]", "LIST").size() == 65536);
  for (const char* wrong : {"", "n[1", "n1]", "n[]", "n[2-1]", "n[a-b]", "n[1-]", "n[-1]", "n1,,n2", "-n1",
                            "n[1-65537]", "n[1-9999999999]", "n]1[", "a[1-60000],b[1-60000]"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(static_cast<void>(parse_nodelist(wrong, "LIST")), Error);
  }
}

TEST_CASE("counts of nodes are those of SLURM") {
  CHECK(parse_node_counts("2(x3),1", "COUNTS") == std::vector<int>{2, 2, 2, 1});
  CHECK(parse_node_counts("4", "COUNTS") == std::vector<int>{4});
  for (const char* wrong : {"", "0", "2(x)", "2(x0)", "2(3)", "2(x99999999)", "a", "1,"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(static_cast<void>(parse_node_counts(wrong, "COUNTS")), Error);
  }
}

}  // namespace
}  // namespace ferry
