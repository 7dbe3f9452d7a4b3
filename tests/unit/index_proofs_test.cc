// Z3 proves every rule of the index simplifier for all integers, symbolic divisors included.
//
// A quotient is described by its definition, d*q <= x <= d*q + d - 1, and the unknowns range over the reals: a proof
// over the reals holds for the integers, and real arithmetic with products is decidable. Where a rule needs the
// integers, strictness is written into it (a < b as a <= b - 1, and its negation as a >= b), which is exact for
// integers. That a number with the property of a quotient is the quotient is proved once, by "quotient-is-unique".

#include <gtest/gtest.h>
#include <z3++.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

using z3::expr;

/// The premises of a rule and the unknowns they speak of.
class Statement {
 public:
  explicit Statement(z3::context& context) : context_(context), premises_(context) {}

  expr number(const char* name) { return context_.real_const(name); }
  expr positive(const char* name) {
    const expr made = number(name);
    require(made >= 1);
    return made;
  }
  void require(const expr& premise) { premises_.push_back(premise); }

  /// What makes q the quotient of x by d, rounding down.
  static expr is_quotient(const expr& q, const expr& x, const expr& d) { return d * q <= x && x <= d * q + d - 1; }
  /// What makes r the remainder, given that q is some integer.
  static expr is_remainder(const expr& r, const expr& x, const expr& d, const expr& q) {
    return x == d * q + r && r >= 0 && r <= d - 1;
  }

  /// x div d, as an unknown with the property of the quotient.
  expr quotient(const char* name, const expr& x, const expr& d) {
    const expr q = number(name);
    require(is_quotient(q, x, d));
    return q;
  }

  /// Do the premises imply the conclusion? `sat` means that they don't.
  z3::check_result refute(const expr& conclusion) {
    z3::solver solver = z3::tactic(context_, "qfnra-nlsat").mk_solver();
    z3::params limits(context_);
    limits.set("timeout", 60000u);
    solver.set(limits);
    solver.add(premises_);
    solver.add(!conclusion);
    return solver.check();
  }

  /// Premises that contradict each other would prove everything.
  z3::check_result premises_hold_somewhere() {
    z3::solver solver = z3::tactic(context_, "qfnra-nlsat").mk_solver();
    solver.add(premises_);
    return solver.check();
  }

 private:
  z3::context& context_;
  z3::expr_vector premises_;
};

struct Rule {
  const char* name;  ///< As it stands in the comment `rule: name` in core/index.
  const char* text;
  std::function<expr(Statement&)> conclusion;  ///< Adds its premises.
};

std::ostream& operator<<(std::ostream& out, const Rule& rule) { return out << rule.name << ": " << rule.text; }

std::vector<Rule> quotient_rules() {
  return {
      {"quotient-is-unique", "d*q <= x < d*(q+1) holds for one q",
       [](Statement& s) {
         const expr x = s.number("x"), d = s.positive("d");
         const expr q = s.quotient("q", x, d), other = s.quotient("other", x, d);
         return !(other >= q + 1);
       }},
      {"divide-by-one", "x div 1 = x and x mod 1 = 0",
       [](Statement& s) {
         const expr x = s.number("x"), one = s.number("one");
         s.require(one == 1);
         return Statement::is_quotient(x, x, one) && Statement::is_remainder(one - 1, x, one, x);
       }},
      {"split-quotient", "(d*y + r) div d = y + r div d",
       [](Statement& s) {
         const expr y = s.number("y"), r = s.number("r"), d = s.positive("d");
         const expr q = s.quotient("q", r, d);
         return Statement::is_quotient(y + q, d * y + r, d);
       }},
      {"block-quotient", "d*k <= x < d*(k+1) -> x div d = k",
       [](Statement& s) {
         const expr x = s.number("x"), k = s.number("k"), d = s.positive("d");
         s.require(x >= d * k && x <= d * (k + 1) - 1);
         return Statement::is_quotient(k, x, d);
       }},
      {"nested-quotient", "(x div a + r) div b = (x + a*r) div (a*b)",
       [](Statement& s) {
         const expr x = s.number("x"), r = s.number("r"), a = s.positive("a"), b = s.positive("b");
         const expr inner = s.quotient("inner", x, a);
         const expr outer = s.quotient("outer", inner + r, b);
         return Statement::is_quotient(outer, x + a * r, a * b);
       }},
      {"quotient-of-remainder", "(x mod (a*b)) div a = (x div a) mod b",
       [](Statement& s) {
         const expr x = s.number("x"), a = s.positive("a"), b = s.positive("b");
         const expr whole = s.quotient("whole", x, a * b);
         const expr q = s.quotient("q", x - a * b * whole, a);
         // x div a is b*whole + q, of which q is the remainder: neither b or more nor negative.
         const expr in_range = !(q >= b) && !(q <= -1);
         return Statement::is_quotient(b * whole + q, x, a) && in_range;
       }},
      {"quotient-of-rounded", "c*m = k*b -> (r + c*(x mod m)) div b = (r + c*x) div b - k*(x div m)",
       [](Statement& s) {
         const expr r = s.number("r"), c = s.number("c"), k = s.number("k"), x = s.number("x");
         const expr m = s.positive("m"), b = s.positive("b");
         s.require(c * m == k * b);
         const expr inner = s.quotient("inner", x, m), outer = s.quotient("outer", r + c * x, b);
         // c*(x mod m) is c*x - c*m*inner, in which c*m is k*b.
         return Statement::is_quotient(outer - k * inner, r + c * x - k * b * inner, b);
       }},
      {"partial-quotient", "0 <= s < g -> (g*x + s) div (g*b) = x div b",
       [](Statement& s) {
         const expr x = s.number("x"), rest = s.number("rest"), g = s.positive("g"), b = s.positive("b");
         s.require(rest >= 0 && rest <= g - 1);
         const expr q = s.quotient("q", x, b);
         return Statement::is_quotient(q, g * x + rest, g * b);
       }},
      {"exact-quotient", "d | x -> (k*x) div (g*d) = (k div g) * (x div d) for g | k",
       [](Statement& s) {
         const expr m = s.number("m"), k = s.number("k"), g = s.positive("g"), d = s.positive("d");
         // x is d*m, and the coefficient is g*k.
         return Statement::is_quotient(m, d * m, d) && Statement::is_quotient(k * m, g * k * (d * m), g * d);
       }},
      {"cancel-exact-quotient", "g*b | x -> g*(x div (g*b)) = x div b",
       [](Statement& s) {
         const expr m = s.number("m"), g = s.positive("g"), b = s.positive("b");
         const expr x = g * b * m;
         return Statement::is_quotient(m, x, g * b) && Statement::is_quotient(g * m, x, b);
       }},
  };
}

std::vector<Rule> remainder_rules() {
  return {
      {"split-remainder", "(d*y + r) mod d = r mod d",
       [](Statement& s) {
         const expr y = s.number("y"), r = s.number("r"), d = s.positive("d");
         const expr q = s.quotient("q", r, d);
         return Statement::is_remainder(r - d * q, d * y + r, d, y + q);
       }},
      {"block-remainder", "d*k <= x < d*(k+1) -> x mod d = x - d*k",
       [](Statement& s) {
         const expr x = s.number("x"), k = s.number("k"), d = s.positive("d");
         s.require(x >= d * k && x <= d * (k + 1) - 1);
         return Statement::is_remainder(x - d * k, x, d, k);
       }},
      {"inner-remainder", "(y + c*(x mod (a*b))) mod a = (y + c*x) mod a",
       [](Statement& s) {
         const expr x = s.number("x"), y = s.number("y"), c = s.number("c"), b = s.positive("b"), a = s.positive("a");
         const expr whole = s.quotient("whole", x, a * b);
         const expr inner = y + c * (x - a * b * whole);
         const expr q = s.quotient("q", inner, a);
         return Statement::is_remainder(inner - a * q, y + c * x, a, q + c * b * whole);
       }},
      {"partial-remainder", "0 <= s < g -> (g*x + s) mod (g*b) = g*(x mod b) + s",
       [](Statement& s) {
         const expr x = s.number("x"), rest = s.number("rest"), g = s.positive("g"), b = s.positive("b");
         s.require(rest >= 0 && rest <= g - 1);
         const expr q = s.quotient("q", x, b);
         return Statement::is_remainder(g * (x - b * q) + rest, g * x + rest, g * b, q);
       }},
      {"join-remainder", "c*(x mod a) + c*a*(x div a) = c*x",
       [](Statement& s) {
         const expr x = s.number("x"), c = s.number("c"), a = s.positive("a");
         const expr q = s.quotient("q", x, a), r = s.number("r");
         s.require(Statement::is_remainder(r, x, a, q));
         return c * r + c * a * q == c * x;
       }},
      {"join-two-remainders", "x mod a + a*((x div a) mod b) = x mod (a*b)",
       [](Statement& s) {
         const expr x = s.number("x"), a = s.positive("a"), b = s.positive("b");
         const expr low = s.quotient("low", x, a);
         const expr high = s.quotient("high", low, b);
         return Statement::is_remainder((x - a * low) + a * (low - b * high), x, a * b, high);
       }},
      {"join-quotient", "c*x - c*a*(x div a) = c*(x mod a)",
       [](Statement& s) {
         const expr x = s.number("x"), c = s.number("c"), a = s.positive("a");
         const expr q = s.quotient("q", x, a), r = s.number("r");
         s.require(Statement::is_remainder(r, x, a, q));
         return c * x - c * a * q == c * r;
       }},
      {"remainder-multiple", "g | x and g | d -> g | x mod d, and x mod d <= d - g",
       [](Statement& s) {
         const expr m = s.number("m"), e = s.positive("e"), g = s.positive("g");
         const expr q = s.quotient("q", g * m, g * e);
         const expr r = g * m - g * e * q;
         // The remainder is g*(m - e*q); above (e - 1)*g it would be at least e*g.
         return r == g * (m - e * q) && !(m - e * q >= e);
       }},
      {"remainder-bounds", "0 <= x mod d <= d - 1, x mod d <= x for x >= 0, and x mod d = x for 0 <= x < d",
       [](Statement& s) {
         const expr x = s.number("x"), d = s.positive("d");
         const expr q = s.quotient("q", x, d);
         const expr r = x - d * q;
         // A negative quotient is at most -1 and a positive one at least 1.
         s.require(q <= -1 || q == 0 || q >= 1);
         return r >= 0 && r <= d - 1 && z3::implies(x >= 0, r <= x) && z3::implies(x >= 0 && x <= d - 1, r == x);
       }},
  };
}

std::vector<Rule> order_rules() {
  return {
      {"quotient-bounds", "x - d + 1 <= d*(x div d) <= x",
       [](Statement& s) {
         const expr x = s.number("x"), d = s.positive("d");
         const expr q = s.quotient("q", x, d);
         return d * q >= x - d + 1 && d * q <= x;
       }},
      {"scaled-comparison", "d*(a - k) + d >= 1 -> a >= k",
       [](Statement& s) {
         const expr a = s.number("a"), k = s.number("k"), d = s.positive("d");
         s.require(d * (a - k) + d >= 1);
         return !(a <= k - 1);
       }},
      {"loop-last", "begin = g*b, end = g*e, step = g*s, i = begin + step*n < end -> i <= end - g",
       [](Statement& s) {
         const expr b = s.number("b"), e = s.number("e"), step = s.positive("step"), n = s.number("n");
         const expr g = s.positive("g");
         s.require(n >= 0 && g * b + g * step * n <= g * e - 1);
         return !(b + step * n >= e);
       }},
      {"extreme-operand", "rest + c*max(x, y) >= k from one operand for c > 0, from both for c < 0; min the other way",
       [](Statement& s) {
         const expr x = s.number("x"), y = s.number("y"), c = s.number("c"), k = s.number("k"), rest = s.number("rest");
         const expr largest = z3::ite(x >= y, x, y), smallest = z3::ite(x <= y, x, y);
         const expr by_x = rest + c * x >= k, by_y = rest + c * y >= k;
         return z3::implies(by_x && by_y, rest + c * largest >= k && rest + c * smallest >= k) &&
                z3::implies(c > 0 && (by_x || by_y), rest + c * largest >= k) &&
                z3::implies(c < 0 && (by_x || by_y), rest + c * smallest >= k);
       }},
      {"covered-operand", "a >= b -> min(a, b) = b and max(a, b) = a",
       [](Statement& s) {
         const expr a = s.number("a"), b = s.number("b");
         s.require(a >= b);
         return z3::ite(a <= b, a, b) == b && z3::ite(a >= b, a, b) == a;
       }},
      {"product-interval", "x*y lies between the smallest and the largest product of the ends",
       [](Statement& s) {
         const expr x = s.number("x"), y = s.number("y"), l = s.number("l"), u = s.number("u");
         const expr m = s.number("m"), n = s.number("n");
         s.require(l <= x && x <= u && m <= y && y <= n);
         const expr p = x * y;
         return (p >= l * m || p >= l * n || p >= u * m || p >= u * n) &&
                (p <= l * m || p <= l * n || p <= u * m || p <= u * n);
       }},
      {"quotient-interval", "x div d lies between the quotients of the ends of x by the ends of d",
       [](Statement& s) {
         const expr x = s.number("x"), d = s.positive("d"), l = s.number("l"), m = s.positive("m"), n = s.positive("n");
         s.require(l <= x && m <= d && d <= n);
         const expr q = s.quotient("q", x, d), by_least = s.quotient("by_least", l, m);
         const expr by_most = s.quotient("by_most", l, n);
         s.require(l >= 0 || l <= -1);
         // The upper end is the same statement for -x - 1, as (-x - 1) div d = -(x div d) - 1.
         return !(q <= by_least - 1 && q <= by_most - 1) && Statement::is_quotient(-q - 1, -x - 1, d);
       }},
  };
}

std::vector<Rule> all_rules() {
  std::vector<Rule> rules = quotient_rules();
  for (const auto& more : {remainder_rules(), order_rules()}) rules.insert(rules.end(), more.begin(), more.end());
  return rules;
}

/// Statements that look like rules and are wrong.
std::vector<Rule> wrong_rules() {
  return {
      {"split-without-remainder", "(d*y + r) div d = y",  // r may be anything
       [](Statement& s) {
         const expr y = s.number("y"), r = s.number("r"), d = s.positive("d");
         return Statement::is_quotient(y, d * y + r, d);
       }},
      {"partial-quotient-of-a-wide-rest", "0 <= s <= g -> (g*x + s) div (g*b) = x div b",
       [](Statement& s) {
         const expr x = s.number("x"), rest = s.number("rest"), g = s.positive("g"), b = s.positive("b");
         s.require(rest >= 0 && rest <= g);
         const expr q = s.quotient("q", x, b);
         return Statement::is_quotient(q, g * x + rest, g * b);
       }},
      {"remainder-below-its-operand", "x mod d <= x, without x >= 0",
       [](Statement& s) {
         const expr x = s.number("x"), d = s.positive("d");
         const expr q = s.quotient("q", x, d);
         return x - d * q <= x;
       }},
      {"quotient-rounded-to-zero", "d*(x div d) >= x - d + 2",
       [](Statement& s) {
         const expr x = s.number("x"), d = s.positive("d");
         const expr q = s.quotient("q", x, d);
         return d * q >= x - d + 2;
       }},
  };
}

TEST(IndexProofs, EveryRuleHoldsForAllIntegers) {
  for (const Rule& rule : all_rules()) {
    z3::context context;
    Statement statement(context);
    const expr conclusion = rule.conclusion(statement);
    EXPECT_EQ(statement.premises_hold_somewhere(), z3::sat) << rule;
    EXPECT_EQ(statement.refute(conclusion), z3::unsat) << rule;
  }
}

TEST(IndexProofs, WrongRulesAreRefuted) {
  for (const Rule& rule : wrong_rules()) {
    z3::context context;
    Statement statement(context);
    const expr conclusion = rule.conclusion(statement);
    EXPECT_EQ(statement.refute(conclusion), z3::sat) << rule;
  }
}

/// Each `rule: name` in the sources has a proof, and each proof but the lemma a place in the sources.
TEST(IndexProofs, SourcesAndProofsNameTheSameRules) {
  std::set<std::string> used;
  const std::regex mark("rule: ([a-z-]+)");
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TANDEM_SOURCE_DIR) + "/core/index")) {
    if (entry.path().extension() != ".cc") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      std::smatch match;
      if (std::regex_search(line, match, mark)) used.insert(match[1]);
    }
  }
  std::set<std::string> proved;
  for (const Rule& rule : all_rules()) proved.insert(rule.name);
  EXPECT_EQ(proved.erase("quotient-is-unique"), 1u);
  EXPECT_EQ(used, proved);
}

}  // namespace
