#include "engine/left_recursion.h"

#include <algorithm>

namespace holdfast::engine {

namespace {

using Kind = GrammarElement::Kind;

// Calls visit(begin, end) for each alternative of a rule.
template <typename Visit>
void each_alternative(const GrammarRule& rule, Visit visit) {
  auto begin = rule.begin();
  while (begin != rule.end()) {
    const auto end = std::find_if(begin, rule.end(), [](const GrammarElement& element) {
      return element.ends_alternative();
    });
    visit(begin, end);
    if (end == rule.end()) return;
    begin = end + 1;
  }
}

// Which rules may match nothing. An alternative waits for one reference after the other; a
// rule that turns out to be empty wakes the alternatives that wait for it.
class EmptyRules {
 public:
  explicit EmptyRules(const std::vector<GrammarRule>& rules)
      : empty_(rules.size()), waiting_(rules.size()) {
    for (std::uint32_t id = 0; id < rules.size(); ++id) {
      each_alternative(rules[id], [&](auto begin, auto end) { wait({id, &*begin, end - begin}); });
    }
    while (!woken_.empty()) {
      const Alternative next = woken_.back();
      woken_.pop_back();
      wait(next);
    }
  }

  [[nodiscard]] bool operator[](std::uint32_t rule) const { return empty_[rule]; }

 private:
  struct Alternative {
    std::uint32_t rule;
    const GrammarElement* at;
    std::ptrdiff_t left;
  };

  void wait(Alternative one) {
    for (; one.left > 0; ++one.at, --one.left) {
      if (one.at->kind != Kind::kRule) return;
      if (!empty_[one.at->value]) return waiting_[one.at->value].push_back(one);
    }
    if (empty_[one.rule]) return;
    empty_[one.rule] = true;
    woken_.insert(woken_.end(), waiting_[one.rule].begin(), waiting_[one.rule].end());
    waiting_[one.rule].clear();
  }

  std::vector<bool> empty_;
  std::vector<std::vector<Alternative>> waiting_;
  std::vector<Alternative> woken_;
};

struct Edge {
  std::uint32_t to;
  bool leaves_rest;
};

std::vector<std::vector<Edge>> left_edges(const std::vector<GrammarRule>& rules) {
  const EmptyRules empty(rules);
  std::vector<std::vector<Edge>> edges(rules.size());
  for (std::size_t id = 0; id < rules.size(); ++id) {
    each_alternative(rules[id], [&](auto at, auto end) {
      for (; at != end && at->kind == Kind::kRule; ++at) {
        edges[id].push_back({at->value, at + 1 != end});
        if (!empty[at->value]) return;
      }
    });
  }
  return edges;
}

// Tarjan's strongly connected components, with a stack of its own.
class Components {
 public:
  explicit Components(const std::vector<std::vector<Edge>>& edges)
      : edges_(edges), low_(edges.size(), 0), component_(edges.size(), 0) {
    for (std::uint32_t id = 0; id < edges.size(); ++id) {
      if (low_[id] == 0) explore(id);
    }
  }

  [[nodiscard]] bool together(std::uint32_t a, std::uint32_t b) const {
    return component_[a] == component_[b];
  }

 private:
  struct Visit {
    std::uint32_t node;
    std::uint32_t number;
    std::size_t next_edge;
  };

  void explore(std::uint32_t first) {
    enter(first);
    while (!path_.empty()) {
      Visit& top = path_.back();
      if (top.next_edge == edges_[top.node].size()) {
        leave();
        continue;
      }
      const std::uint32_t to = edges_[top.node][top.next_edge++].to;
      if (low_[to] == 0) {
        enter(to);
      } else if (component_[to] == 0) {
        low_[top.node] = std::min(low_[top.node], low_[to]);
      }
    }
  }

  void enter(std::uint32_t node) {
    low_[node] = ++count_;
    open_.push_back(node);
    path_.push_back({node, count_, 0});
  }

  void leave() {
    const Visit done = path_.back();
    path_.pop_back();
    if (low_[done.node] == done.number) close(done.node);
    if (path_.empty()) return;
    const std::uint32_t parent = path_.back().node;
    if (component_[done.node] == 0) low_[parent] = std::min(low_[parent], low_[done.node]);
  }

  void close(std::uint32_t first) {
    ++components_;
    for (;;) {
      const std::uint32_t node = open_.back();
      open_.pop_back();
      component_[node] = components_;
      if (node == first) return;
    }
  }

  const std::vector<std::vector<Edge>>& edges_;
  std::vector<std::uint32_t> low_;
  std::vector<std::uint32_t> component_;
  std::vector<std::uint32_t> open_;
  std::vector<Visit> path_;
  std::uint32_t count_ = 0;
  std::uint32_t components_ = 0;
};

}  // namespace

std::optional<std::uint32_t> find_left_recursion(const std::vector<GrammarRule>& rules) {
  const auto edges = left_edges(rules);
  const Components components(edges);
  for (std::uint32_t id = 0; id < edges.size(); ++id) {
    for (const Edge& edge : edges[id]) {
      if (edge.leaves_rest && components.together(id, edge.to)) return id;
    }
  }
  return std::nullopt;
}

}  // namespace holdfast::engine
