#include "api/cache_tree.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <numeric>
#include <span>
#include <tuple>

#include "api/answered.h"
#include "api/json_fields.h"
#include "api/json_values.h"
#include "api/openai_errors.h"
#include "api/own_space.h"
#include "api/worker.h"

namespace holdfast::api {
namespace {

using cache::ConversationStatus;

constexpr std::chrono::seconds kListPatience{2};
// A turn of the scheduler takes as long as a chunk.
constexpr std::chrono::seconds kDropPatience{10};

// --- the tree -------------------------------------------------------------------------

// Builds the nodes of conversations that are sorted by space and keys: those that share a beginning
// stand together, and what the first and the last of them share, all of them do.
class TreeBuilder {
 public:
  explicit TreeBuilder(const std::vector<ConversationStatus>& conversations)
      : all_(conversations) {}

  std::vector<CacheTreeNode> build() {
    std::vector<std::size_t> order(all_.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto filed = [&](std::size_t i) { return std::tie(all_[i].space, all_[i].keys); };
    std::ranges::sort(order, [&](auto a, auto b) { return filed(a) < filed(b); });
    each_group(
        order, [&](std::size_t i) { return all_[i].space; },
        [&](Some group) { add(group, 0, std::nullopt); });
    return std::move(nodes_);
  }

 private:
  using Some = std::span<const std::size_t>;
  using Parent = std::optional<std::size_t>;

  // Calls `take` for each stretch of equal names.
  template <typename Name, typename Take>
  static void each_group(Some some, const Name& name, const Take& take) {
    while (!some.empty()) {
      const auto first = name(some.front());
      const auto end = std::ranges::find_if(some, [&](auto i) { return name(i) != first; });
      const auto size = static_cast<std::size_t>(end - some.begin());
      take(some.first(size));
      some = some.subspan(size);
    }
  }

  [[nodiscard]] TokenPos length(std::size_t i) const {
    return static_cast<TokenPos>(all_[i].keys.size());
  }

  [[nodiscard]] TokenPos shared_by(Some some, TokenPos from) const {
    const Tokens& a = all_[some.front()].keys;
    const Tokens& b = all_[some.back()].keys;
    const auto end = std::mismatch(a.begin() + from, a.end(), b.begin() + from, b.end()).first;
    return static_cast<TokenPos>(end - a.begin());
  }

  // All of `some` are equal up to `to`, and so have the same.
  [[nodiscard]] std::vector<TokenPos> snapshots(Some some, TokenPos from, TokenPos to) const {
    const auto& all = all_[some.front()].snapshots_at;
    return {std::ranges::upper_bound(all, from), std::ranges::upper_bound(all, to)};
  }

  // REQUIRES: all of `some` are equal up to `from`.
  void add(Some some, TokenPos from, Parent parent) {
    const TokenPos to = shared_by(some, from);
    if (to > from || some.size() == 1) {
      nodes_.push_back({parent, from, to, some.size(), std::nullopt, snapshots(some, from, to)});
      parent = nodes_.size() - 1;
    }
    while (!some.empty() && length(some.front()) == to) {  // it ends where others go on
      if (parent) nodes_[*parent].tip = some.front();
      some = some.subspan(1);
    }
    const auto next = [&](std::size_t i) { return all_[i].keys[static_cast<std::size_t>(to)]; };
    each_group(some, next, [&](Some group) { add(group, to, parent); });
  }

  const std::vector<ConversationStatus>& all_;
  std::vector<CacheTreeNode> nodes_;
};

// --- the page ---------------------------------------------------------------------------

// "12-3"
std::string branch_name(tree::NodeId tip) {
  return std::to_string(tip.index) + '-' + std::to_string(tip.generation);
}

void append_tip(std::string& out, const ConversationStatus& one,
                const std::optional<TokenPos>& on_disk) {
  ObjectWriter object(out);
  object.text("branch", branch_name(one.tip));
  append_count(object, "bytes", one.own.sum() + one.shared.sum());
  append_count(object, "own_bytes", one.own.sum());
  append_count(object, "snapshots", one.own.snapshot_count + one.shared.snapshot_count);
  object.real("idle_seconds", one.idle_seconds);
  object.raw("slot", one.slot ? std::to_string(*one.slot) : "null");
  object.raw("disk_tokens", on_disk ? std::to_string(*on_disk) : "null");
}

void append_node(std::string& out, const CacheTreeNode& node,
                 const std::vector<ConversationStatus>& conversations,
                 const serve::CacheCommands& commands) {
  ObjectWriter object(out);
  object.raw("parent", node.parent ? std::to_string(*node.parent) : "null");
  object.integer("from", node.from);
  object.integer("to", node.to);
  append_count(object, "conversations", node.conversations);
  std::string& places = object.key("snapshots");
  append_array(places, node.snapshots,
               [&](TokenPos place) { append_json_number(places, std::int64_t{place}); });
  if (!node.tip) return object.raw("tip", "null");
  const ConversationStatus& one = conversations[*node.tip];
  append_tip(object.key("tip"), one, commands.tokens_below(one));
}

std::string tree_json(const cache::ConversationsStatus& held,
                      const serve::CacheCommands& commands) {
  std::string out;
  {
    ObjectWriter object(out);
    object.text("object", "cache.tree");
    append_count(object, "conversations", held.count);
    append_count(object, "shown", held.latest.size());
    std::string& nodes = object.key("nodes");
    append_array(nodes, cache_tree(held.latest), [&](const CacheTreeNode& node) {
      append_node(nodes, node, held.latest, commands);
    });
  }
  return out;
}

Result<std::size_t> read_tips(const HttpRequest& request) {
  const std::string text = request.query_value("limit");
  if (text.empty()) return kTreeTipsDefault;
  std::size_t limit = 0;
  const char* const last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, limit);
  if (problem == std::errc() && end == last && limit >= 1 && limit <= kTreeTipsMax) return limit;
  return invalid_argument(
      "limit", "'limit' must be an integer between 1 and " + std::to_string(kTreeTipsMax));
}

Result<tree::NodeId> read_branch(const HttpRequest& request) {
  const std::string text = request.query_value("branch");
  tree::NodeId node;
  const char* const last = text.data() + text.size();
  const auto index = std::from_chars(text.data(), last, node.index);
  if (index.ec == std::errc() && index.ptr != last && *index.ptr == '-') {
    const auto generation = std::from_chars(index.ptr + 1, last, node.generation);
    if (generation.ec == std::errc() && generation.ptr == last && node) return node;
  }
  return invalid_argument("branch",
                          "'branch' must be the name of a conversation in GET /cache/tree");
}

std::string dropped_json(ByteCount freed) {
  std::string out;
  {
    ObjectWriter object(out);
    object.text("object", "cache.dropped");
    append_count(object, "freed_bytes", freed);
  }
  return out;
}

}  // namespace

std::vector<CacheTreeNode> cache_tree(const std::vector<ConversationStatus>& conversations) {
  return TreeBuilder(conversations).build();
}

boost::asio::awaitable<void> show_cache_tree(AnswerContext context, const HttpRequest& request,
                                             HttpResponder& responder) {
  const auto tips = read_tips(request);
  if (!tips) {
    HttpResponse refused = error_response(tips.error());
    co_await responder.send(std::move(refused));
    co_return;
  }
  serve::CacheCommands& commands = context.backend->scheduler->cache_commands();
  const BeginAsking<cache::ConversationsStatus> begin =
      [&](serve::Answer<cache::ConversationsStatus> answer) {
        commands.list_conversations(*tips, std::move(answer), own_space(context, request));
      };
  const auto held =
      co_await answered_within<cache::ConversationsStatus>(context.io, kListPatience, begin);
  const auto write = [&]() -> HttpResponse {
    if (!held) return error_response(held.error());
    return {.body = tree_json(*held, commands)};
  };
  HttpResponse response = co_await on_worker(context.worker, write);
  co_await responder.send(std::move(response));
}

boost::asio::awaitable<void> drop_conversation(AnswerContext context, const HttpRequest& request,
                                               HttpResponder& responder) {
  const auto branch = read_branch(request);
  if (!branch) {
    HttpResponse refused = error_response(branch.error());
    co_await responder.send(std::move(refused));
    co_return;
  }
  serve::CacheCommands& commands = context.backend->scheduler->cache_commands();
  const BeginAsking<ByteCount> begin = [&](serve::Answer<ByteCount> answer) {
    commands.drop(*branch, own_space(context, request), std::move(answer));
  };
  const auto freed = co_await answered_within<ByteCount>(context.io, kDropPatience, begin);
  HttpResponse response =
      freed ? HttpResponse{.body = dropped_json(*freed)} : error_response(freed.error());
  co_await responder.send(std::move(response));
}

}  // namespace holdfast::api
