// What each conversation holds: one walk over the nodes with bytes, and one up from each tip that
// is shown.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tree/token_tree.h"
#include "tree/tree_core.h"

namespace holdfast::tree {

namespace {

constexpr std::size_t kNone = ~std::size_t{0};

// A node at or below which bytes are held. Parents come before their children.
struct Visit {
  const Node* node = nullptr;
  std::size_t parent = kNone;  // in the list of visits
  std::size_t tips = 0;        // at and below
  std::size_t tip = kNone;     // one of them, in the list of tips
};

std::vector<Visit> nodes_with_bytes(const std::vector<const Node*>& roots) {
  std::vector<Visit> visits;
  for (const Node* root : roots) {
    if (root->holders > 0) visits.push_back({.node = root});
  }
  for (std::size_t at = 0; at < visits.size(); ++at) {
    for (const auto& child : visits[at].node->children.all()) {
      if (child.node->holders > 0) visits.push_back({.node = child.node, .parent = at});
    }
  }
  return visits;
}

TokenPos last_held(const Node& node) {
  if (node.has_snapshot) return node.end;
  return node.state.row.uses().back().range.end;
}

// Calls `see(charge)` for every use of an object by the node.
template <typename See>
void each_use(const Node& node, const See& see) {
  for (const auto& use : node.state.row.uses()) see(*use.charge);
  if (node.state.snapshot) see(*node.state.snapshot.charge);
}

void add(HeldBytes& to, const Charge& charge) {
  (charge.kind == ByteKind::kBlocks ? to.rows : to.snapshots) += charge.bytes;
}

void add(HeldBytes& to, const HeldBytes& more) {
  to.rows += more.rows;
  to.snapshots += more.snapshots;
  to.snapshot_count += more.snapshot_count;
}

class Count {
 public:
  explicit Count(const std::vector<const Node*>& roots) : visits_(nodes_with_bytes(roots)) {
    find_tips();
    for (const Visit& visit : visits_) count_node(visit);
    for (const auto& [charge, tip] : joint_) add(tip == kNone ? shared_ : tips_[tip].own, *charge);
  }

  HeldConversations told(std::size_t most) {
    HeldConversations told{.count = tips_.size(), .shared = shared_};
    for (const HeldConversation& tip : tips_) add(told.own, tip.own);
    std::vector<std::size_t> order(tips_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto shown = order.begin() + static_cast<std::ptrdiff_t>(std::min(most, order.size()));
    std::partial_sort(order.begin(), shown, order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(tips_[b].last_use, a) < std::pair(tips_[a].last_use, b);
    });
    for (auto at = order.begin(); at != shown; ++at) {
      told.latest.push_back(tips_[*at]);
      told.latest.back().shared = shared_by(at_[*at]);
      told.latest.back().snapshots_at = snapshots_to(at_[*at]);
      told.latest.back().own_nodes = own_nodes(at_[*at]);
    }
    return told;
  }

 private:
  // From the leaves up, which the list of visits is from its end.
  void find_tips() {
    for (std::size_t at = visits_.size(); at-- > 0;) {
      Visit& visit = visits_[at];
      const Node& node = *visit.node;
      if (visit.tips == 0) {
        visit.tips = 1;
        visit.tip = tips_.size();
        at_.push_back(at);
        tips_.push_back({.tip = node.id,
                         .space = node.space,
                         .tokens = last_held(node),
                         .last_use = node.last_use});
      }
      if (visit.parent == kNone) continue;
      visits_[visit.parent].tips += visit.tips;
      visits_[visit.parent].tip = visit.tip;
    }
  }

  // An object with one user belongs where its user does; others are decided when all users are
  // known.
  void count_node(const Visit& visit) {
    const std::size_t owner = visit.tips == 1 ? visit.tip : kNone;
    HeldBytes& to = owner == kNone ? shared_ : tips_[owner].own;
    to.snapshot_count += visit.node->has_snapshot ? 1 : 0;
    each_use(*visit.node, [&](const Charge& charge) {
      if (charge.users == 1) return add(to, charge);
      const auto [found, first] = joint_.try_emplace(&charge, owner);
      if (!first && found->second != owner) found->second = kNone;
    });
  }

  // What the path to a node holds that is not its own.
  [[nodiscard]] HeldBytes shared_by(std::size_t at) const {
    HeldBytes shared;
    std::unordered_set<const Charge*> seen;
    for (; at != kNone; at = visits_[at].parent) {
      const Visit& visit = visits_[at];
      const bool several = visit.tips > 1;
      shared.snapshot_count += several && visit.node->has_snapshot ? 1 : 0;
      each_use(*visit.node, [&](const Charge& charge) {
        const bool of_others = charge.users == 1 ? several : joint_.at(&charge) == kNone;
        if (of_others && (charge.users == 1 || seen.insert(&charge).second)) add(shared, charge);
      });
    }
    return shared;
  }

  [[nodiscard]] std::vector<NodeId> own_nodes(std::size_t at) const {
    std::vector<NodeId> own;
    for (; at != kNone && visits_[at].tips == 1 && !visits_[at].node->is_root();
         at = visits_[at].parent) {
      own.push_back(visits_[at].node->id);
    }
    return own;
  }

  // Where the path to a node has snapshots.
  [[nodiscard]] std::vector<TokenPos> snapshots_to(std::size_t at) const {
    std::vector<TokenPos> places;
    for (; at != kNone; at = visits_[at].parent) {
      if (visits_[at].node->has_snapshot) places.push_back(visits_[at].node->end);
    }
    std::ranges::reverse(places);
    return places;
  }

  std::vector<Visit> visits_;
  std::vector<HeldConversation> tips_;
  std::vector<std::size_t> at_;                           // visits of the tips
  std::unordered_map<const Charge*, std::size_t> joint_;  // of several users: whose; kNone: shared
  HeldBytes shared_;
};

}  // namespace

HeldConversations TokenTree::conversations(std::size_t most,
                                           const std::optional<SpaceKey>& only) const {
  if (!only) return Count(core_->nodes().roots()).told(most);
  const Node* const root = core_->nodes().find_root(*only);
  return root == nullptr ? HeldConversations{} : Count({root}).told(most);
}

}  // namespace holdfast::tree
