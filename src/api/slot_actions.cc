#include "api/slot_actions.h"

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "api/access.h"
#include "api/answered.h"
#include "api/json_fields.h"
#include "api/openai_errors.h"
#include "api/openai_fields.h"
#include "api/worker.h"
#include "cache/slot_file.h"

namespace holdfast::api {

namespace asio = boost::asio;

namespace {

// --- what is asked for ---------------------------------------------------------------------

enum class Action { kSave, kRestore, kErase };

struct SlotOrder {
  Action action = Action::kErase;
  SlotId slot;
  std::string filename;
  std::string tenant;
  SpaceKey space;
};

std::optional<Action> action_of(std::string_view name) {
  if (name == "save") return Action::kSave;
  if (name == "restore") return Action::kRestore;
  if (name == "erase") return Action::kErase;
  return std::nullopt;
}

std::optional<SlotId> slot_of(std::string_view text, int slots) {
  SlotId slot;
  const char* const last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, slot.value);
  const bool number = problem == std::errc() && end == last && !text.starts_with('-');
  if (!number || slot.value >= slots) return std::nullopt;
  return slot;
}

// An empty body is an empty object: llama-server's erase needs none.
Result<Json> body_of(const HttpRequest& request) {
  if (request.body.empty()) return Json::object();
  auto body = parse_json(request.body);
  if (body && !body->is_object()) return invalid_argument("", "The body must be a JSON object.");
  return body;
}

void read_filename(const JsonFields& fields, SlotOrder& order) {
  if (order.action == Action::kErase) return;
  order.filename = required_text(fields, "filename");
  const char* const why = cache::bad_slot_file_name(order.filename);
  if (why != nullptr) fields.fail("filename", why);  // the first mistake counts
}

Result<SlotOrder> read_order(const SlotContext& context, const std::string& slot,
                             const HttpRequest& request) {
  SlotOrder order;
  const auto action = action_of(request.query_value("action"));
  if (!action) return invalid_argument("action", "'action' must be save, restore or erase.");
  order.action = *action;
  if (order.action != Action::kErase && context.backend->slot_files == nullptr) {
    return Error{ErrorCode::kUnsupported,
                 "This server saves no slots. Start it with --slot-save-path DIR.", "action"};
  }
  const auto id = slot_of(slot, context.backend->slots);
  if (!id) {
    return invalid_argument("id_slot", "The slot must be a number between 0 and " +
                                           std::to_string(context.backend->slots - 1) + ".");
  }
  order.slot = *id;
  const auto body = body_of(request);
  if (!body) return body.error();
  FirstError error;
  const JsonFields fields(*body, "", error);
  read_filename(fields, order);
  std::string salt = read_cache_salt(fields);
  if (!error.empty()) return error.get();
  if (salt.empty()) salt = request.query_value("cache_salt");
  order.tenant = tenant_name(context.key_name, salt);
  order.space = context.backend->space_of(order.tenant);
  return order;
}

// --- doing it --------------------------------------------------------------------------------

using Stopwatch = std::chrono::steady_clock;

double ms_since(Stopwatch::time_point began) {
  return std::chrono::duration<double, std::milli>(Stopwatch::now() - began).count();
}

struct Deed {
  const SlotContext& context;
  const SlotOrder& order;
  serve::SlotAsk ask;

  [[nodiscard]] serve::Scheduler& scheduler() const { return *context.backend->scheduler; }
};

// "'x.bin' cannot be restored: it is cut off. Slot 0 is as it was."
Error about_file(const SlotOrder& order, const Error& error) {
  const bool saves = order.action == Action::kSave;
  std::string message = "'" + order.filename + "' cannot be " + (saves ? "saved" : "restored") +
                        ": " + error.message + ".";
  if (error.code == ErrorCode::kTooLarge) {
    message +=
        " The folder of saved slots is full. Remove files there, or start the server with a"
        " larger --slot-save-max.";
  }
  if (!saves) message += " Slot " + std::to_string(order.slot.value) + " is as it was.";
  return {error.code, std::move(message), "filename"};
}

// How much was moved, and what llama-server calls it.
struct Moved {
  TokenPos tokens = 0;
  ByteCount bytes = 0;
  double ms = 0.0;
};

HttpResponse done(const SlotOrder& order, const Moved& moved) {
  const bool saved = order.action == Action::kSave;
  HttpResponse response;
  {
    ObjectWriter object(response.body);
    object.integer("id_slot", order.slot.value);
    object.text("filename", order.filename);
    object.integer(saved ? "n_saved" : "n_restored", moved.tokens);
    object.integer(saved ? "n_written" : "n_read", static_cast<std::int64_t>(moved.bytes));
    ObjectWriter timings(object.key("timings"));
    timings.real(saved ? "save_ms" : "restore_ms", moved.ms);
  }
  return response;
}

asio::awaitable<HttpResponse> save(Deed deed) {
  const SlotOrder& order = deed.order;
  const BeginAsking<serve::SlotCopy> begin = [&](serve::Answer<serve::SlotCopy> answer) {
    deed.scheduler().slot_commands().save(deed.ask, std::move(answer));
  };
  const auto copy = co_await answered<serve::SlotCopy>(deed.context.io, begin);
  if (!copy) co_return error_response(copy.error());
  const auto began = Stopwatch::now();
  const auto write = [&] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    return cache::write_slot_file(*deed.context.backend->slot_files, order.filename, copy->state,
                                  cache::slot_owner(order.tenant), now_ms);
  };
  const auto written = co_await on_worker(deed.context.files, write);
  if (!written) co_return error_response(about_file(order, written.error()));
  co_return done(order, Moved{copy->state.length(), *written, copy->ms + ms_since(began)});
}

asio::awaitable<HttpResponse> restore(Deed deed) {
  const SlotOrder& order = deed.order;
  const auto began = Stopwatch::now();
  const auto read = [&] {
    return cache::read_slot_file(*deed.context.backend->slot_files, order.filename,
                                 cache::slot_owner(order.tenant),
                                 deed.scheduler().slot_commands().limits(order.space));
  };
  auto file = co_await on_worker(deed.context.files, read);
  if (!file) co_return error_response(about_file(order, file.error()));
  const double read_ms = ms_since(began);
  const auto state = std::make_shared<const cache::SlotState>(std::move(file->state));
  const BeginAsking<serve::SlotBrought> begin = [&](serve::Answer<serve::SlotBrought> answer) {
    deed.scheduler().slot_commands().restore(deed.ask, state, std::move(answer));
  };
  const auto restored = co_await answered<serve::SlotBrought>(deed.context.io, begin);
  if (!restored) co_return error_response(restored.error());
  co_return done(order, Moved{restored->tokens, file->bytes, read_ms + restored->ms});
}

asio::awaitable<HttpResponse> erase(Deed deed) {
  const BeginAsking<TokenPos> begin = [&](serve::Answer<TokenPos> answer) {
    deed.scheduler().slot_commands().erase(deed.ask, std::move(answer));
  };
  const auto erased = co_await answered<TokenPos>(deed.context.io, begin);
  if (!erased) co_return error_response(erased.error());
  HttpResponse response;
  {
    ObjectWriter object(response.body);
    object.integer("id_slot", deed.order.slot.value);
    object.integer("n_erased", *erased);
    object.text(
        "note",
        "The slot is empty and its conversation is forgotten, in memory and on disk, but for what "
        "other conversations begin with too. DELETE /cache forgets all of yours.");
  }
  co_return response;
}

}  // namespace

asio::awaitable<void> answer_slot_action(SlotContext context, std::string slot,
                                         const HttpRequest& request, HttpResponder& responder) {
  const auto order = read_order(context, slot, request);
  HttpResponse response;
  if (!order) {
    response = error_response(order.error());
  } else {
    auto unwanted = std::make_shared<std::atomic<bool>>(false);
    responder.on_gone([unwanted] { unwanted->store(true); });
    Deed deed{context, *order, {order->slot, order->space, unwanted}};
    switch (order->action) {
      case Action::kSave: response = co_await save(std::move(deed)); break;
      case Action::kRestore: response = co_await restore(std::move(deed)); break;
      case Action::kErase: response = co_await erase(std::move(deed)); break;
    }
  }
  co_await responder.send(std::move(response));
}

}  // namespace holdfast::api
