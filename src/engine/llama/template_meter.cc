#include "engine/llama/template_meter.h"

#include <dlfcn.h>
#include <jinja/runtime.h>

#include <ctime>
#include <stdexcept>

#include "base/check.h"

namespace holdfast::llama {

namespace {

thread_local TemplateMeter* meter_here = nullptr;

// Asking for the time takes as long as some steps do.
constexpr std::size_t kStepsBetweenLooks = 256;

std::chrono::nanoseconds thread_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

TemplateMeter::TemplateMeter(Limits limits) : limits_(limits), begun_(thread_time()) {
  CHECK(meter_here == nullptr);
  meter_here = this;
}

TemplateMeter::~TemplateMeter() { meter_here = nullptr; }

void TemplateMeter::count_step() {
  if (meter_here != nullptr) meter_here->add_step();
}

void TemplateMeter::add_step() {
  const bool look = steps_ % kStepsBetweenLooks == 0;
  exceeded_ =
      exceeded_ || steps_ >= limits_.steps || (look && thread_time() - begun_ > limits_.time);
  if (exceeded_) throw std::runtime_error("the chat template takes too long");
  ++steps_;
}

}  // namespace holdfast::llama

namespace jinja {

// Goes before the library's (template_meter.h).
value statement::execute(context& ctx) const {
  using Execute = value (*)(const statement*, context&);
  static const auto library =
      reinterpret_cast<Execute>(dlsym(RTLD_NEXT, "_ZNK5jinja9statement7executeERNS_7contextE"));
  CHECK(library != nullptr);
  holdfast::llama::TemplateMeter::count_step();
  return library(this, ctx);
}

}  // namespace jinja
