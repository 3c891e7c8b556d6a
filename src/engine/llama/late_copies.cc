#include "engine/llama/late_copies.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::llama {

namespace {

// More threads are not faster: the bus and memory are the limit.
constexpr unsigned kThreadsMax = 4;

// The bytes between the pieces.
std::vector<std::span<const std::byte>> others_of(const LatePart& part) {
  std::span<const std::byte> left = part.bytes.front()->room();
  std::vector<std::span<const std::byte>> others;
  for (const PieceOut& piece : part.pieces) {
    const auto before = static_cast<std::size_t>(piece.memory - left.data());
    others.push_back(left.first(before));
    left = left.subspan(before + piece.size);
  }
  others.push_back(left);
  return others;
}

std::uint64_t checksum_of(std::span<const std::span<const std::byte>> all) {
  std::uint64_t sum = 0;
  for (const auto& bytes : all) sum = hash_bytes(bytes, sum);
  return sum;
}

bool unwanted(const LatePart& part) {
  return std::ranges::all_of(part.bytes, [](const auto& one) { return one.use_count() == 1; });
}

}  // namespace

// --- what has been computed --------------------------------------------------------------

struct LateCopies::Gate {
  Gate() = default;
  ~Gate() {
    for (ggml_backend_event_t event : events) ggml_backend_event_free(event);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void wait() const {
    for (ggml_backend_event_t event : events) ggml_backend_event_synchronize(event);
  }

  std::vector<ggml_backend_event_t> events;
};

// Where a device has no events, all that it computes is waited for here.
std::shared_ptr<LateCopies::Gate> LateCopies::gate_behind(std::span<const LatePart> parts) const {
  std::vector<ggml_backend_t> behind;
  for (const LatePart& part : parts) {
    for (const PieceOut& piece : part.pieces) {
      ggml_backend_t backend = backend_of(device_of(piece.tensor));
      if (std::ranges::find(behind, backend) == behind.end()) behind.push_back(backend);
    }
  }
  auto gate = std::make_shared<Gate>();
  for (ggml_backend_t backend : behind) {
    ggml_backend_event_t event = ggml_backend_event_new(ggml_backend_get_device(backend));
    if (event == nullptr) {
      ggml_backend_synchronize(backend);
    } else {
      ggml_backend_event_record(event, backend);
      gate->events.push_back(event);
    }
  }
  return gate;
}

// --- beginning ---------------------------------------------------------------------------

LateCopies::LateCopies(std::vector<ggml_backend_t> backends, LateCopying use,
                       std::optional<ByteCount> limit)
    : backends_(std::move(backends)), use_(use), room_(limit) {}

LateCopies::~LateCopies() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

ggml_backend_t LateCopies::backend_of(ggml_backend_dev_t device) const {
  const auto found = std::ranges::find_if(backends_, [&](ggml_backend_t backend) {
    return ggml_backend_get_device(backend) == device;
  });
  return found == backends_.end() ? nullptr : *found;
}

bool LateCopies::can_take(std::span<const PieceOut> pieces) const {
  if (use_ == LateCopying::kNever) return false;
  return std::ranges::all_of(pieces, [&](const PieceOut& piece) {
    ggml_backend_dev_t device = device_of(piece.tensor);
    const bool helps = !on_host(piece.tensor) && has_queue_for_each_thread(device);
    return (helps || use_ == LateCopying::kAlways) && backend_of(device) != nullptr;
  });
}

void LateCopies::begin_rows(std::vector<LatePart> parts) {
  const auto gate = gate_behind(parts);
  const MutexLock lock(mutex_);
  for (LatePart& part : parts) {
    enqueue(std::make_unique<Order>(Order{std::move(part), gate, {}}));
  }
}

bool LateCopies::begin_snapshot(LatePart part) {
  auto order = std::make_unique<Order>(Order{std::move(part), nullptr, {}});
  if (!take_berths(*order)) return false;
  order->gate = gate_behind({&order->part, 1});
  const MutexLock lock(mutex_);
  enqueue(std::move(order));
  return true;
}

// One berth on each device that has pieces, which then are pieces of it. All are taken, or none.
bool LateCopies::take_berths(Order& order) {
  std::vector<ggml_backend_dev_t> devices;
  for (const PieceOut& piece : order.part.pieces) {
    ggml_backend_dev_t device = device_of(piece.tensor);
    if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
  }
  MutexLock lock(mutex_);
  while (true) {
    for (ggml_backend_dev_t device : devices) {
      DeviceRoom::Berth* const berth = room_.take(device, order.part.bytes.front());
      if (berth == nullptr) break;
      order.berths.push_back(berth);
    }
    if (order.berths.size() == devices.size()) break;
    for (DeviceRoom::Berth* berth : order.berths) {
      berth->holds.reset();
      DeviceRoom::give_back(*berth);
    }
    order.berths.clear();
    if (!room_.any_taken()) return false;
    changed_.wait(lock);
  }
  for (DeviceRoom::Berth* berth : order.berths) {
    berth->others = others_of(order.part);
    berth->others_checksum = checksum_of(berth->others);
  }
  copy_aside(order);
  return true;
}

namespace {

// Both lie on the backend's device, one of them in a berth.
void copy_within(ggml_backend_t backend, const ggml_tensor& from, std::size_t from_offset,
                 const ggml_tensor& into, std::size_t into_offset, std::size_t size) {
  const auto piece = [&](const ggml_tensor& tensor, std::size_t offset) {
    return byte_tensor(buffer_of(&tensor), static_cast<std::byte*>(tensor.data) + offset, size);
  };
  const ggml_tensor source = piece(from, from_offset);
  ggml_tensor target = piece(into, into_offset);
  ggml_backend_tensor_copy_async(backend, backend, &source, &target);
}

}  // namespace

// In its berth a piece lies as far from the beginning as it does in ordinary memory.
void LateCopies::copy_aside(Order& order) const {
  const std::byte* const begin = order.part.bytes.front()->room().data();
  for (PieceOut& piece : order.part.pieces) {
    ggml_backend_dev_t device = device_of(piece.tensor);
    const auto berth = std::ranges::find(order.berths, device, &DeviceRoom::Berth::device);
    CHECK(berth != order.berths.end());
    ggml_tensor& into = (*berth)->bytes;
    const auto offset = static_cast<std::size_t>(piece.memory - begin);
    copy_within(backend_of(device), *piece.tensor, piece.offset, into, offset, piece.size);
    piece.tensor = &into;
    piece.offset = offset;
  }
}

// The rest of its bytes is verified here.
bool LateCopies::holds(std::span<const std::byte> snapshot) {
  const MutexLock lock(mutex_);
  for (ggml_backend_t backend : backends_) {
    const auto* berth = room_.find(ggml_backend_get_device(backend), snapshot.data());
    if (berth != nullptr) return checksum_of(berth->others) == berth->others_checksum;
  }
  return false;
}

bool LateCopies::bring_back(std::span<const std::byte> snapshot, std::span<const PieceIn> pieces) {
  const MutexLock lock(mutex_);
  std::vector<const DeviceRoom::Berth*> berths;
  for (const PieceIn& piece : pieces) {
    const DeviceRoom::Berth* berth = room_.find(device_of(piece.tensor), snapshot.data());
    if (berth == nullptr) return false;
    berths.push_back(berth);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const PieceIn& piece = pieces[i];
    const auto offset = static_cast<std::size_t>(piece.memory - snapshot.data());
    copy_within(backend_of(berths[i]->device), berths[i]->bytes, offset, *piece.tensor,
                piece.offset, piece.size);
  }
  return true;
}

void LateCopies::enqueue(std::unique_ptr<Order> order) {
  if (threads_.empty()) {
    const unsigned count = std::clamp(std::thread::hardware_concurrency() / 2, 1U, kThreadsMax);
    for (unsigned i = 0; i < count; ++i) {
      threads_.emplace_back([this] { work_until_stopped(); });
    }
  }
  waiting_.push_back(std::move(order));
  changed_.notify_all();
}

// --- waiting -----------------------------------------------------------------------------

bool LateCopies::copies_rows(SlotId slot, TokenPos from) const {
  const auto such = [&](const Order& order) {
    return order.part.slot == slot && order.part.rows_end > from;
  };
  return std::ranges::any_of(waiting_, such,
                             [](const auto& order) -> const Order& { return *order; }) ||
         std::ranges::any_of(running_, such,
                             [](const Order* order) -> const Order& { return *order; });
}

void LateCopies::settle(SlotId slot, TokenPos position) {
  MutexLock lock(mutex_);
  while (copies_rows(slot, position)) changed_.wait(lock);
}

void LateCopies::settle_all() {
  MutexLock lock(mutex_);
  while (!waiting_.empty() || !running_.empty()) changed_.wait(lock);
}

ByteCount LateCopies::room_on(ggml_backend_dev_t device) {
  const MutexLock lock(mutex_);
  return room_.bytes_on(device);
}

// --- copying threads ---------------------------------------------------------------------

void LateCopies::work_until_stopped() {
  HostStage stage;
  MutexLock lock(mutex_);
  while (true) {
    while (!stopping_ && waiting_.empty()) changed_.wait(lock);
    if (waiting_.empty()) return;
    const std::unique_ptr<Order> order = std::move(waiting_.front());
    waiting_.pop_front();
    running_.push_back(order.get());
    {
      const MutexUnlock others_go_on(mutex_);
      carry_out(*order, stage);
    }
    std::erase(running_, order.get());
    for (DeviceRoom::Berth* berth : order->berths) DeviceRoom::give_back(*berth);
    changed_.notify_all();
  }
}

void LateCopies::carry_out(const Order& order, HostStage& stage) {
  order.gate->wait();
  const bool wanted = !unwanted(order.part);
  if (wanted) {
    Shipments<std::byte> shipments(HostStage::kBytes);
    for (const PieceOut& piece : order.part.pieces) shipments.add(piece);
    for (std::size_t i = 0; i < shipments.count(); ++i) stage.move(shipments[i]);
  }
  for (const auto& bytes : order.part.bytes) wanted ? bytes->arrive() : bytes->fail();
}

}  // namespace holdfast::llama
