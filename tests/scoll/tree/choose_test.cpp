#include "scoll/tree/choose.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "rack_tree.hpp"
#include "scoll/tree/any_tree.hpp"
#include "tests/catch.hpp"

using namespace scoll;

namespace {

std::uint32_t draw(std::mt19937& random, std::uint32_t below) {
  return static_cast<std::uint32_t>(random() % below);
}

link_costs any_costs(std::mt19937& random) {
  link_costs c;
  c.send = draw(random, 50);
  c.receive = draw(random, 50);
  c.latency = draw(random, 300);
  c.gap = draw(random, 100);
  c.merge = draw(random, 50);
  return c;
}

const std::vector<tree_spec>& some_trees() {
  static const std::vector<tree_spec> all{flat{},     chain{},    kary{2},         kary{3},         kary{7},
                                          knomial{2}, knomial{4}, greedy{7, 1, 1}, greedy{20, 3, 9}};
  return all;
}

any_tree tree_of(const tree_spec& spec, std::uint32_t n) {
  return any_tree::resolve(spec, n).value();
}

link_map on_hosts(const link_costs& costs, std::vector<std::uint32_t> host_of,
                  std::vector<std::uint32_t> processors) {
  link_map links = link_map::uniform(costs);
  links.host_of = std::move(host_of);
  links.processors = std::move(processors);
  return links;
}

const tree_candidate& candidate_of(const tree_plan& plan, const tree_spec& tree) {
  const auto at = std::ranges::find(plan.candidates, tree, &tree_candidate::tree);
  REQUIRE(at != plan.candidates.end());
  return *at;
}

}  // namespace

TEST_CASE("with a processor for everyone the two predictions are one", "[tree][predict]") {
  std::mt19937 random(7);
  for (int i = 0; i < 400; ++i) {
    const std::uint32_t n = 1 + draw(random, 90);
    const link_costs c = any_costs(random);
    const tree_spec spec = some_trees()[draw(random, static_cast<std::uint32_t>(some_trees().size()))];
    CAPTURE(n, to_string(spec), c.send, c.receive, c.latency, c.gap, c.merge);
    const any_tree tree = tree_of(spec, n);
    const auto expected = predict(tree, n, c.send + c.latency + c.receive, std::max(c.gap, c.send), c.merge,
                                  c.send + c.latency);
    CHECK(predict(tree, n, link_map::uniform(c)) == expected);
    // One host with a processor for each member gives the same result, and so does a host with 0, which
    // stands for as many processors as it has members.
    const std::vector<std::uint32_t> together(n, 0);
    auto shared = predict(tree, n, on_hosts(c, together, {n}));
    CHECK(shared.work_bound <= shared.merged);
    shared.work_bound = 0;
    CHECK(shared == expected);
    CHECK(predict(tree, n, on_hosts(c, together, {0})) == expected);
  }
}

TEST_CASE("members that share processors take turns", "[tree][predict]") {
  link_costs c;
  c.send = 2;
  c.receive = 5;
  c.latency = 10;
  c.merge = 3;
  // One processor: the root sends until 6, the children arrive from 12 on, receive and answer in 7 each: the
  // replies are sent at 17, 24, 31 and there 12 later, 27 + 2, 36, 43; the merge of the last one ends at 46.
  const auto one = predict(flat{}, 4, on_hosts(c, {0, 0, 0, 0}, {1}));
  CHECK(one.reached == 12 + 7 + 7 + 5);
  CHECK(one.merged == 12 + 7 + 7 + 7 + 10 + 3);
  CHECK(one.work_bound == 6 + 3 * 7 + 3 * 3);
  // Two: the second child finds a processor at once, the third the first one's.
  const auto two = predict(flat{}, 4, on_hosts(c, {0, 0, 0, 0}, {2}));
  CHECK(two.reached == 19 + 5);
  CHECK(two.merged == 19 + 7 + 10 + 3);
  CHECK(two.work_bound == (6 + 21 + 9) / 2);
  // Children on a host of their own do not wait for the root.
  const auto apart = predict(flat{}, 4, on_hosts(c, {0, 1, 1, 1}, {1, 1}));
  CHECK(apart.merged == one.merged);
  CHECK(apart.work_bound == 21);
}

TEST_CASE("waking up is paid for once for all replies that are there", "[tree][predict]") {
  link_costs c;
  c.latency = 100;
  c.merge = 10;
  c.wake = 7;
  // All three replies arrive at 200, which takes one turn.
  CHECK(predict(flat{}, 4, link_map::uniform(c)).merged == 200 + 7 + 30);
  // Replies 40 apart take three turns.
  c.gap = 40;
  CHECK(predict(flat{}, 4, link_map::uniform(c)).merged == 200 + 80 + 7 + 10);
  // A chain wakes every parent.
  CHECK(predict(chain{}, 4, link_map::uniform(c)).merged == 2 * 300 + 3 * 17);
}

TEST_CASE("no schedule beats the work of the busiest host, and more processors never do harm to flat trees",
          "[tree][predict]") {
  std::mt19937 random(11);
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t n = 1 + draw(random, 60);
    link_costs c = any_costs(random);
    c.wake = draw(random, 40);
    std::vector<std::uint32_t> hosts(n);
    for (std::uint32_t& h : hosts) h = draw(random, 3);
    std::uint64_t before = UINT64_MAX;
    for (const std::uint32_t processors : {1U, 2U, 4U, 64U}) {
      CAPTURE(n, processors);
      const link_map links = on_hosts(c, hosts, {processors, processors, processors});
      for (const tree_spec& spec : some_trees()) {
        const auto found = predict(tree_of(spec, n), n, links);
        CHECK(found.merged >= found.work_bound);
        CHECK(found.merged >= found.reached);
      }
      const auto wide = predict(flat{}, n, links);
      CHECK(wide.reached <= before);
      before = wide.reached;
    }
  }
}

TEST_CASE("links between two members are those of the root, of their host, or the worse of both", "[tree]") {
  link_map links;
  links.classes = {{"near", {.latency = 1}}, {"far", {.latency = 9}}};
  links.class_of = {0, 0, 1, 1, 0};
  links.host_of = {0, 0, 1, 1, 2};
  links.processors = {1, 1, 1};
  const auto latency = [&](std::uint32_t a, std::uint32_t b) { return links.between(a, b).latency; };
  CHECK(latency(0, 1) == 1);
  CHECK(latency(0, 2) == 9);
  CHECK(latency(3, 0) == 9);
  CHECK(latency(1, 2) == 9);
  CHECK(latency(1, 4) == 1);
  CHECK(latency(2, 3) == 9);
  links.local = 0;
  CHECK(latency(2, 3) == 1);
  CHECK(latency(1, 2) == 9);
  // A chain: over to the far host, there from one to the other, and back; each way once.
  links.classes[0].costs.merge = links.classes[1].costs.merge = 0;
  CHECK(predict(chain{}, 4, links).merged == 2 * (1 + 9 + 1));
}

namespace {

/// All trees over n members whose ranks are in preorder, as parents of 1 ... n - 1.
void each_tree(std::uint32_t n, std::vector<std::uint32_t>& parents, const auto& visit) {
  const auto next = static_cast<std::uint32_t>(parents.size());
  if (next == n) return visit(parents);
  // In preorder the next member is a child of the last one or of an ancestor of it.
  for (std::uint32_t p = next - 1;; p = parents[p]) {
    parents.push_back(p);
    each_tree(n, parents, visit);
    parents.pop_back();
    if (p == 0) return;
  }
}

detail::tree_levels levels_of(const std::vector<std::uint32_t>& parents) {
  detail::tree_levels all{{0}, {0}, {}};
  for (std::size_t at = 0; at < all.rank.size(); ++at) {
    all.first_child.push_back(static_cast<std::uint32_t>(all.rank.size()));
    for (std::uint32_t child = 1; child < parents.size(); ++child) {
      if (parents[child] != all.rank[at]) continue;
      all.rank.push_back(child);
      all.parent.push_back(static_cast<std::uint32_t>(at));
    }
  }
  all.first_child.push_back(static_cast<std::uint32_t>(all.rank.size()));
  return all;
}

std::uint64_t best_of_all_trees(std::uint32_t n, const link_map& links) {
  std::uint64_t best = UINT64_MAX;
  std::vector<std::uint32_t> parents{0};
  each_tree(n, parents, [&](const std::vector<std::uint32_t>& tree) {
    tree_prediction found;
    detail::predict_times(levels_of(tree), links, found);
    best = std::min(best, found.merged);
  });
  return best;
}

}  // namespace

TEST_CASE("for few members what is chosen is near the best tree that there is", "[tree][choose]") {
  std::mt19937 random(3);
  std::uint32_t exact = 0, cases = 0;
  for (std::uint32_t n = 2; n <= 8; ++n) {
    for (int i = 0; i < 12; ++i) {
      const link_costs c = any_costs(random);
      const bool shared = i % 2 == 1;
      const link_map links =
          shared ? on_hosts(c, std::vector<std::uint32_t>(n, 0), {2}) : link_map::uniform(c);
      const std::uint64_t best = best_of_all_trees(n, links);
      const tree_plan plan = choose_tree(n, links);
      CAPTURE(n, shared, to_string(plan.tree), c.send, c.receive, c.latency, c.gap, c.merge);
      CHECK(plan.predicted->merged >= best);
      CHECK(plan.candidates.front().predicted.merged * 100 <= best * 115);
      exact += plan.candidates.front().predicted.merged == best;
      ++cases;
    }
  }
  CHECK(exact * 10 >= cases * 8);
}

TEST_CASE("a plan is the simplest of the fastest, whatever the number of members", "[tree][choose]") {
  link_costs c;
  c.send = 700;
  c.receive = 900;
  c.latency = 9000;
  c.merge = 400;
  std::vector<std::uint32_t> sizes{255, 257, 1000};
  for (std::uint32_t n = 1; n <= 70; ++n) sizes.push_back(n);
  for (const std::uint32_t n : sizes) {
    CAPTURE(n);
    const tree_plan plan = choose_tree(n, link_map::uniform(c));
    REQUIRE(plan.predicted);
    CHECK(plan.members == n);
    CHECK_FALSE(plan.why.empty());
    const auto merged = [](const tree_candidate& t) { return t.predicted.merged; };
    CHECK(std::ranges::is_sorted(plan.candidates, {}, merged));
    CHECK(candidate_of(plan, plan.tree).predicted == *plan.predicted);
    CHECK(plan.predicted->merged * 100 <= merged(plan.candidates.front()) * 105);
    for (const tree_candidate& t : plan.candidates) {
      CHECK(check_tree(t.tree, n) == tree_fault::none);
      if (t.tree.kind == flat::kind && merged(t) * 100 <= merged(plan.candidates.front()) * 105)
        CHECK(plan.tree == tree_spec(flat{}));
    }
    const tree_plan again = choose_tree(n, link_map::uniform(c));
    CHECK(again.tree == plan.tree);
    CHECK(to_text(again) == to_text(plan));
  }
}

TEST_CASE("costs decide", "[tree][choose]") {
  link_costs far;  // nothing but the way costs anything: one level
  far.latency = 10'000;
  CHECK(choose_tree(1000, link_map::uniform(far)).tree == tree_spec(flat{}));
  link_costs dear;  // nothing but sending does: everybody has to send
  dear.gap = 10'000;
  const tree_plan deep = choose_tree(64, link_map::uniform(dear));
  CHECK(deep.predicted->reached <= candidate_of(deep, knomial{2}).predicted.reached);
  CHECK(deep.predicted->root_fan_out <= 7);
  // Latency and sending cost as in the page: no other radix beats the chosen one.
  link_costs mixed;
  mixed.latency = 7000;
  mixed.gap = 1000;
  mixed.merge = 1000;
  const tree_plan plan = choose_tree(1024, link_map::uniform(mixed));
  for (std::uint32_t k = 2; k <= 64; ++k)
    CHECK(plan.predicted->merged * 100 <= predict(knomial{k}, 1024, link_map::uniform(mixed)).merged * 105);
  // On one processor all work runs in sequence, so the tree with the fewest wake-ups is chosen.
  link_costs busy;
  busy.send = 3000;
  busy.receive = 9000;
  busy.merge = 1000;
  busy.wake = 4000;
  const link_map one = on_hosts(busy, std::vector<std::uint32_t>(64, 0), {1});
  const tree_plan crowded = choose_tree(64, one);
  CHECK(crowded.tree == tree_spec(flat{}));
  CHECK(crowded.why.find("busy nearly all the time") != std::string::npos);
}

TEST_CASE("a pinned tree is taken, and the plan says what it costs", "[tree][choose]") {
  link_costs c;
  c.latency = 10'000;
  c.send = 10;
  tree_choice_options options;
  options.pinned = kary{40};  // not among the candidates that are tried by default
  const tree_plan plan = choose_tree(200, link_map::uniform(c), options);
  CHECK(plan.pinned);
  CHECK(plan.tree == tree_spec(kary{40}));
  CHECK(*plan.predicted == predict(kary{40}, 200, link_map::uniform(c)));
  CHECK(plan.why.starts_with("pinned by the setting node.pinned_tree; without it flat would be taken"));
  // A tree that is not valid for this many members is not pinned.
  options.pinned = greedy{0, 0, 0};
  CHECK_FALSE(choose_tree(200, link_map::uniform(c), options).pinned);

  const tree_plan blind = pinned_plan(200, kary{40});
  CHECK((blind.pinned && !blind.predicted && blind.candidates.empty()));
  CHECK(to_text(blind) ==
        "kary:40 for 200 members\nwhy: pinned by the setting node.pinned_tree: nothing was measured\n");
}

TEST_CASE("trees of the program are candidates when they are named", "[tree][choose]") {
  REQUIRE(register_tree<rack_tree>());
  link_costs c;
  c.latency = 100;
  tree_choice_options options;
  options.also = {rack_tree{4}, tree_spec(200, {1, 2, 3})};
  const tree_plan plan = choose_tree(16, link_map::uniform(c), options);
  CHECK(candidate_of(plan, rack_tree{4}).predicted.levels == 3);
  CHECK(std::ranges::none_of(plan.candidates, [](const tree_candidate& t) { return t.tree.kind == 200; }));
}

TEST_CASE("a plan is text that a person can read", "[tree][choose]") {
  link_costs c;
  c.send = 3000;
  c.latency = 5000;
  c.receive = 4000;
  c.merge = 1500;
  const tree_plan plan = choose_tree(64, link_map::uniform(c));
  const std::string text = to_text(plan, 3);
  INFO(text);
  CHECK(text.starts_with(to_string(plan.tree) + " for 64 members: the last is reached after "));
  CHECK(text.find("\nwhy: flat has the root send and merge 63 times one after the other, ") !=
        std::string::npos);
  CHECK(text.find("\nall links: send 3.0 us, receive 4.0 us, latency 5.0 us, gap 0.0 us, merge 1.5 us, wake "
                  "0.0 us\n") != std::string::npos);
  CHECK(text.find("\n> " + to_string(plan.tree)) != std::string::npos);
  CHECK(text.ends_with(" more\n"));
  CHECK(std::ranges::count(text, '\n') == 3 + 3 + 1);

  // The chosen tree is always shown, here as the slowest of all.
  tree_choice_options slow;
  slow.pinned = chain{};
  const std::string pinned = to_text(choose_tree(64, link_map::uniform(c), slow), 1);
  CHECK(pinned.find("\n> chain") != std::string::npos);
  CHECK(std::ranges::count(pinned, '\n') == 3 + 1 + 1 + 1);
}
